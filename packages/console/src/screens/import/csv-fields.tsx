import type { Signal } from '@preact/signals'
import { Choice } from '../../ui/form.tsx'
import { Heads } from '../../ui/list.tsx'
import { type CsvFormat, cellText } from './csv.ts'
import { type CsvHead, delimiters } from './csv-head.ts'

/** The reader's choices about the columns. The delimiter is that of the head. */
export type Columns = Omit<CsvFormat, 'delimiter'>

const shownCharactersMax = 200

/** A cell as it will be stored: strings with quotes, numbers without. */
const ShownCell = ({ cell, column, isNumber }: { cell: string; column: string; isNumber: boolean }) => {
  if (cell === '') return <span class="muted">left out</span>
  let text: string
  try {
    text = cellText(cell, column, isNumber)!
  } catch {
    return <span class="fault">{cell.slice(0, shownCharactersMax)} is no number</span>
  }
  const shown = text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax)}…` : text
  return <span class={isNumber ? 'json-number' : 'json-string'}>{shown}</span>
}

const Preview = ({ head: { columns, rows }, chosen }: { head: CsvHead; chosen: Columns }) => {
  const roleOf = (column: string): string =>
    column === chosen.hashKey
      ? 'hash key'
      : column === chosen.rangeKey
        ? 'range key'
        : chosen.numbers.includes(column)
          ? 'number'
          : 'text'
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class="scroll-x csv-preview" tabIndex={0} aria-label={`The first ${rows.length} rows`}>
      <table class="list">
        <Heads
          of={columns.map((column) => (
            <>
              {column} <small class="block">{roleOf(column)}</small>
            </>
          ))}
        />
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.fault === undefined ? (
                row.cells.map((cell, at) => (
                  <td key={at} class="mono">
                    <ShownCell cell={cell} column={columns[at]!} isNumber={chosen.numbers.includes(columns[at]!)} />
                  </td>
                ))
              ) : (
                <td colSpan={columns.length} class="fault">
                  Refused: {row.fault}
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

interface Props {
  head: CsvHead
  chosen: Signal<Columns>
  onDelimiter: (delimiter: string) => void
}

/** The choice of the columns that are keys and numbers, above the first rows of the file. */
export const CsvFields = ({ head, chosen, onDelimiter }: Props) => {
  const { columns, rows } = head
  const { hashKey, rangeKey, numbers } = chosen.value
  const change = (part: Partial<Columns>) => {
    chosen.value = { ...chosen.value, ...part }
  }
  const named = columns.map((column) => [column, column] as const)
  return (
    <>
      <div class="form-row tight">
        <Choice
          label="Hash key"
          hint="The column that is the key of the record."
          value={hashKey}
          options={named}
          onText={(column) => change({ hashKey: column })}
        />
        <Choice
          label="Range key"
          value={rangeKey ?? ''}
          options={[['', 'none'], ...named]}
          onText={(column) => change({ rangeKey: column === '' ? undefined : column })}
        />
        <Choice label="Between the cells" value={head.delimiter} options={delimiters} onText={onDelimiter} />
      </div>
      <fieldset class="plain">
        <legend>Columns of numbers; the others are text</legend>
        <div class="check-list">
          {columns.map((column) => (
            <label key={column} class="check">
              <input
                type="checkbox"
                checked={numbers.includes(column)}
                onChange={(event) =>
                  change({
                    numbers: event.currentTarget.checked
                      ? [...numbers, column]
                      : numbers.filter((other) => other !== column),
                  })
                }
              />
              <span>{column}</span>
            </label>
          ))}
        </div>
      </fieldset>
      {rows.length === 0 ? (
        <p class="muted">The file has no rows below its first line.</p>
      ) : (
        <Preview head={head} chosen={chosen.value} />
      )}
    </>
  )
}
