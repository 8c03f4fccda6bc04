import { isUnknown } from '../../api/error.ts'
import { bytesOf } from '../../text/instant.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Heads } from '../../ui/list.tsx'
import { Section } from '../../ui/screen.tsx'
import type { Refused } from './import-requests.ts'
import { type ImportState, stopImport, titleOf } from './import-run.ts'

const count = (value: number): string => value.toLocaleString('en')

const BadLines = ({ refused, refusedCount }: Pick<ImportState, 'refused' | 'refusedCount'>) => {
  const isAll = refused.length === refusedCount
  return (
    <Section
      title={
        isAll
          ? `Refused lines: ${count(refusedCount)}`
          : `Refused lines: ${refused.length} of ${count(refusedCount)} shown`
      }
      actions={
        <CopyButton
          label={isAll ? 'Copy the list' : `Copy these ${refused.length}`}
          text={() => refused.map(({ line, reason }) => `line ${line}: ${reason}`).join('\n')}
        />
      }
    >
      <LinesTable lines={refused} head="Reason" />
    </Section>
  )
}

const LinesTable = ({ lines, head }: { lines: Refused[]; head: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
  <section class="scroll-x import-lines" tabIndex={0} aria-label={head}>
    <table class="list">
      <Heads of={[{ head: 'Line', class: 'num' }, head]} />
      <tbody>
        {lines.map(({ line, reason }) => (
          <tr key={line}>
            <td class="num">{count(line)}</td>
            <td>{reason}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </section>
)

export const ImportProgress = ({ state }: { state: ImportState }) => {
  const { status, fileName, fileBytes, bytesRead, lines, records, expired, refused, refusedCount, notes, elapsedMs } =
    state
  const isRunning = status === 'running' || status === 'stopping'
  const rate = elapsedMs > 0 ? Math.round((records / elapsedMs) * 1000) : 0
  return (
    <>
      <Section
        title={`${titleOf(state)}: ${fileName}`}
        actions={
          isRunning && (
            <button type="button" disabled={status === 'stopping'} onClick={stopImport}>
              Stop
            </button>
          )
        }
      >
        <progress
          class="import-bar"
          aria-label="Part of the file that has been read"
          max={fileBytes || 1}
          value={bytesRead}
        />
        <dl class="facts">
          <dt>records</dt>
          <dd class="tabular">{count(records)} imported</dd>
          <dt>lines</dt>
          <dd class="tabular">
            {count(lines)} read, {count(refusedCount)} refused, {count(expired)} expired and skipped
          </dd>
          <dt>file</dt>
          <dd class="tabular">
            {bytesOf(bytesRead)} of {bytesOf(fileBytes)}
          </dd>
          <dt>rate</dt>
          <dd class="tabular">
            {count(rate)} records/s in {(elapsedMs / 1000).toFixed(1)} s
          </dd>
        </dl>
        {state.error !== undefined && <ErrorBox error={state.error} />}
        {(status === 'stopped' || status === 'failed') && (
          <p>
            The rest of the file was not imported.
            {isUnknown(state.error) && ' Records whose answer did not come may be imported too.'} To import it all,
            choose the file again: puts of the same records change nothing but their version.
          </p>
        )}
      </Section>
      {notes.length > 0 && (
        <Section title="Notes">
          <LinesTable lines={notes} head="Note" />
        </Section>
      )}
      {refusedCount > 0 && <BadLines refused={refused} refusedCount={refusedCount} />}
    </>
  )
}
