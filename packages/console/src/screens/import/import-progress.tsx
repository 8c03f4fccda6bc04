import { isUnknown } from '../../api/error.ts'
import { bytesOf } from '../../text/instant.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Heads } from '../../ui/list.tsx'
import { Section } from '../../ui/screen.tsx'
import type { Refused } from './import-requests.ts'
import { createAndImportAgain, type ImportState, stopImport, titleOf } from './import-run.ts'

const missingNamedMax = 5

const count = (value: number): string => value.toLocaleString('en')

const BadLines = ({ refused, refusedCount, unit }: Pick<ImportState, 'refused' | 'refusedCount' | 'unit'>) => {
  const isAll = refused.length === refusedCount
  return (
    <Section
      title={
        isAll
          ? `Refused ${unit}s: ${count(refusedCount)}`
          : `Refused ${unit}s: ${refused.length} of ${count(refusedCount)} shown`
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

/** The usual reason for an import of nothing, with the way on. */
const MissingTables = ({ of: missing }: { of: string[] }) => {
  const isOne = missing.length === 1
  const more = missing.length > missingNamedMax ? ` and ${missing.length - missingNamedMax} more` : ''
  const names = missing.slice(0, missingNamedMax).join(', ') + more
  return (
    <div class="message warn">
      <p>
        <strong>{isOne ? `There is no table ${names}.` : `There are no tables ${names}.`}</strong>
      </p>
      <p>
        <button type="button" onClick={createAndImportAgain}>
          Create {isOne ? 'it' : 'them'} and try again
        </button>{' '}
        without indices. A table with indices is created under its database, before the import.
      </p>
    </div>
  )
}

export const ImportProgress = ({ state }: { state: ImportState }) => {
  const { status, fileName, fileBytes, bytesRead, unit, unitsRead, records, expired, elapsedMs } = state
  const { refused, refusedCount, notes, missingTables } = state
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
          <dt>{unit}s</dt>
          <dd class="tabular">
            {count(unitsRead)} read, {count(refusedCount)} refused, {count(expired)} expired and skipped
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
        {!isRunning && missingTables.length > 0 && <MissingTables of={missingTables} />}
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
      {refusedCount > 0 && <BadLines refused={refused} refusedCount={refusedCount} unit={unit} />}
    </>
  )
}
