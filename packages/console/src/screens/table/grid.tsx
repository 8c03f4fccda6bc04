import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { hrefOf } from '../../router.ts'
import { type Column, columnOf, widthOf } from './columns.ts'
import { Row } from './grid-row.tsx'
import { type GridRow, nameText, type RecordKeys } from './rows.ts'
import type { TableQuery } from './table-query.ts'

interface Props {
  query: TableQuery
  fields: readonly string[]
  openId: string | undefined
  open: (keys: RecordKeys) => void
  /** Another row has the focus while a record is open. */
  move: (keys: RecordKeys) => void
  close: () => void
}

const checkPx = 40
const pageRows = 20

const keysOf = ({ record: { hashKey, rangeKey } }: GridRow): RecordKeys => ({ hashKey, rangeKey })

const hasText = (): boolean => getSelection()?.isCollapsed === false

/** The cell that Tab reaches; the arrow keys move it. */
const makeReachable = (body: HTMLElement, cell: HTMLElement): void => {
  for (const other of body.querySelectorAll('[tabindex="0"]')) other.removeAttribute('tabindex')
  cell.tabIndex = 0
}

const Head = ({ columns, hasRangeKeys, query }: { columns: Column[]; hasRangeKeys: boolean; query: TableQuery }) => {
  const { selection } = query
  const rows = query.rows.value
  const count = selection.ids.value.size
  return (
    <thead>
      <tr>
        <th class="grid-check" scope="col">
          <input
            type="checkbox"
            aria-label="Select all shown records"
            checked={count > 0 && count === rows.length}
            ref={(input) => {
              if (input) input.indeterminate = count > 0 && count < rows.length
            }}
            onChange={() => selection.all(count === rows.length ? [] : rows.map(({ id }) => id))}
          />
        </th>
        <th class="grid-key" scope="col">
          hashKey
        </th>
        {hasRangeKeys && <th scope="col">rangeKey</th>}
        {columns.map(({ name, slots, isNumber }) => (
          <th key={name} scope="col" class={isNumber ? 'num' : ''} title={nameText(name)}>
            {nameText(name)}
            {slots.map((slot) => (
              <span key={slot} class="slot">
                {' '}
                {slot}
              </span>
            ))}
          </th>
        ))}
        <th scope="col">updatedAt</th>
      </tr>
    </thead>
  )
}

export const Grid = ({ query, fields, openId, open, move, close }: Props) => {
  const { db, table, indices, selection } = query
  const rows = query.rows.value
  const selected = selection.ids.value
  const changedId = query.changedId.value
  const body = useRef<HTMLTableSectionElement>(null)
  const asked = query.asked.value
  // Measured once for a query, so that nothing moves when rows are added or change.
  const columns = useMemo(() => fields.map((name) => columnOf(name, rows, indices)), [fields, asked])
  const hasRangeKeys = rows.some(({ record }) => record.rangeKey !== undefined)
  const keyPx = useMemo(
    () =>
      widthOf(
        rows.map(({ record }) => record.hashKey.length),
        8,
        34,
      ),
    [asked],
  )
  const rangeKeyPx = useMemo(
    () =>
      widthOf(
        rows.map(({ record }) => record.rangeKey?.length ?? 0),
        8,
        34,
      ),
    [asked, hasRangeKeys],
  )
  const agePx = rows.some(({ record }) => record.ttl !== undefined) ? 210 : 104
  const widths = [keyPx, ...(hasRangeKeys ? [rangeKeyPx] : []), ...columns.map(({ widthPx }) => widthPx)]
  const totalPx = checkPx + agePx + widths.reduce((sum, width) => sum + width, 0)

  // The key leaves room for other columns on a narrow screen; the last column takes what is left.
  const [first, ...others] = widths
  const template = `${checkPx}px min(${first}px, 40vw) ${others.map((width) => `${width}px`).join(' ')} minmax(${agePx}px, 1fr)`

  useLayoutEffect(() => {
    if (!body.current || body.current.querySelector('[tabindex="0"]')) return
    const last = rows.findIndex(({ id }) => id === query.lastOpenId)
    const cell = body.current.rows[Math.max(last, 0)]?.cells[1]
    if (!cell) return
    makeReachable(body.current, cell)
    // Back from a record that was open as a page: the reader goes on where they were.
    if (last !== -1 && document.activeElement === document.body) cell.focus({ preventScroll: true })
  })
  useEffect(() => {
    const at = rows.findIndex(({ id }) => id === openId)
    const row = body.current?.rows[at]
    // The cell that has the focus must keep it.
    if (!row || row.querySelector('[tabindex="0"]')) return
    makeReachable(body.current!, row.cells[1]!)
    row.scrollIntoView({ block: 'nearest' })
  }, [openId])

  const focusCell = (rowIndex: number, cellIndex: number): GridRow | undefined => {
    const at = Math.min(Math.max(rowIndex, 0), rows.length - 1)
    const cells = body.current!.rows[at]?.cells
    const cell = cells?.[Math.min(Math.max(cellIndex, 0), cells.length - 1)]
    if (!cell) return undefined
    makeReachable(body.current!, cell)
    cell.focus()
    return rows[at]
  }

  const place = (
    target: EventTarget | null,
  ): { cell: HTMLTableCellElement; index: number; row: GridRow } | undefined => {
    const cell = target instanceof Element ? target.closest<HTMLTableCellElement>('tbody td, tbody th') : null
    const index = (cell?.parentElement as HTMLTableRowElement | undefined)?.sectionRowIndex
    const row = index === undefined ? undefined : rows[index]
    return cell && row ? { cell, index: index!, row } : undefined
  }

  const onKeyDown = (event: KeyboardEvent): void => {
    const at = place(event.target)
    if (at === undefined || event.altKey) return
    const { cell, index, row } = at
    const hasControl = event.ctrlKey || event.metaKey
    const steps: Record<string, readonly [number, number]> = {
      ArrowDown: [index + 1, cell.cellIndex],
      ArrowUp: [index - 1, cell.cellIndex],
      PageDown: [index + pageRows, cell.cellIndex],
      PageUp: [index - pageRows, cell.cellIndex],
      ArrowRight: [index, cell.cellIndex + 1],
      ArrowLeft: [index, cell.cellIndex - 1],
      Home: [hasControl ? 0 : index, 0],
      End: [hasControl ? rows.length - 1 : index, Number.MAX_SAFE_INTEGER],
    }
    const step = steps[event.key]
    if (step !== undefined) {
      const next = focusCell(...step)
      if (next !== undefined && next !== row) {
        if (event.shiftKey)
          selection.extend(
            rows.map(({ id }) => id),
            row.id,
            next.id,
          )
        else selection.rest()
        if (openId !== undefined) move(keysOf(next))
      }
    } else if (event.key === ' ') selection.toggle(row.id)
    else if (event.key === 'Enter') open(keysOf(row))
    else if (event.key === 'Escape' && openId !== undefined) close()
    else if (event.key === 'Escape') selection.all([])
    else if (event.key === 'a' && hasControl) selection.all(rows.map(({ id }) => id))
    else return
    event.preventDefault()
  }

  const onClick = (event: MouseEvent): void => {
    const at = place(event.target)
    if (at === undefined) return
    makeReachable(body.current!, at.cell)
    if (at.cell.cellIndex === 0) {
      if (event.shiftKey)
        selection.extend(
          rows.map(({ id }) => id),
          at.row.id,
          at.row.id,
        )
      else selection.toggle(at.row.id)
      return
    }
    // A link goes its own way: it may be opened in another tab. Text that was just selected is wanted for copying.
    if ((event.target as Element).closest('a') || hasText()) return
    at.cell.focus({ preventScroll: true })
    open(keysOf(at.row))
  }

  return (
    <table
      class="grid"
      // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: it is a grid, with its keys and its selection
      role="grid"
      aria-multiselectable="true"
      aria-label={`Records of ${table}`}
      style={{ minWidth: `${totalPx}px`, '--columns': template }}
    >
      <Head columns={columns} hasRangeKeys={hasRangeKeys} query={query} />
      <tbody ref={body} onKeyDown={onKeyDown} onClick={onClick}>
        {rows.map((row) => (
          <Row
            key={row.id}
            row={row}
            href={hrefOf({ screen: 'record', db, table, ...keysOf(row) })}
            columns={columns}
            hasRangeKeys={hasRangeKeys}
            isSelected={selected.has(row.id)}
            isOpen={row.id === openId}
            isChanged={row.id === changedId}
          />
        ))}
      </tbody>
    </table>
  )
}
