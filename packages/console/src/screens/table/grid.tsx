import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { hrefOf } from '../../router.ts'
import { preference, setPreference } from '../../state/preferences.ts'
import { session } from '../../state/session.ts'
import { later } from '../../ui/later.tsx'
import { loadLater } from '../load-later.ts'
import { columnOf, fitWidths, needsOf } from './columns.ts'
import { Head, type HeadColumn } from './grid-head.tsx'
import { Row } from './grid-row.tsx'
import type { Place } from './loaded-view.ts'
import { type GridRow, nameText, type RecordKeys } from './rows.ts'
import type { TableQuery } from './table-query.ts'

interface Props {
  query: TableQuery
  fields: readonly string[]
  /** The width that the grid may have without scrolling. */
  roomPx: number
  openId: string | undefined
  open: (keys: RecordKeys) => void
  /** Another row has the focus while a record is open. */
  move: (keys: RecordKeys) => void
  close: () => void
}

const checkPx = 40
const columnMaxPx = 2_000
const pageRows = 20
/** Each record is a block of a list if there is less room. */
const listBelowPx = 600

const keysOf = ({ record: { hashKey, rangeKey } }: GridRow): RecordKeys => ({ hashKey, rangeKey })

const hasText = (): boolean => getSelection()?.isCollapsed === false

/** The cell that Tab reaches; the arrow keys move it. */
const makeReachable = (table: HTMLElement, cell: HTMLElement): void => {
  for (const other of table.querySelectorAll('[tabindex="0"]')) other.removeAttribute('tabindex')
  cell.tabIndex = 0
}

/** The widths by the JSON of the column. */
type Widths = Record<string, number>

/** The widths that the reader has chosen, kept for this table in this browser. */
const useWidths = ({ db, table }: TableQuery) => {
  const name = `widths.${session.value?.self.organization}.${db}.${table}`
  const widths = useSignal<Widths>({ ...preference<Widths>(name, {}) })
  const chosenPx = (place: Place): number | undefined => {
    const px: unknown = widths.value[JSON.stringify(place)]
    return typeof px === 'number' ? px : undefined
  }
  const choose = (place: Place, px: number | undefined): void => {
    const { [JSON.stringify(place)]: _, ...others } = widths.value
    widths.value = px === undefined ? others : { ...others, [JSON.stringify(place)]: px }
    setPreference(name, widths.value)
  }
  return { chosenPx, choose }
}

/** The columns with their widths, as the browser lays them out. */
const useColumns = (query: TableQuery, fields: readonly string[], roomPx: number, isList: boolean) => {
  const rows = query.rows.value
  const asked = query.asked.value
  const { chosenPx, choose } = useWidths(query)
  const hasRangeKeys = rows.some(({ record }) => record.rangeKey !== undefined)
  // The columns are measured once for a query, so that nothing moves when rows are added or change.
  const columns = useMemo(() => fields.map((name) => columnOf(name, rows, query.indices)), [fields, asked])
  const keys = useMemo(() => {
    const needs = (name: 'hashKey' | 'rangeKey') =>
      needsOf(
        name,
        rows.map(({ record }) => nameText(record[name] ?? '').length),
      )
    return { hashKey: needs('hashKey'), rangeKey: needs('rangeKey') }
  }, [asked, hasRangeKeys])
  const agePx = rows.some(({ record }) => record.ttl !== undefined) ? 222 : 132
  const all = [
    { place: 'hashKey' as const, ...keys.hashKey },
    ...(hasRangeKeys ? [{ place: 'rangeKey' as const, ...keys.rangeKey }] : []),
    ...columns.map((column) => ({ place: { field: column.name }, ...column })),
  ]
  const widths = fitWidths(
    all.map((column) => ({ ...column, chosenPx: chosenPx(column.place) })),
    roomPx - checkPx - agePx,
  )
  const heads: HeadColumn[] = all.map((column, i) => ({
    ...column,
    widthPx: widths[i]!,
    resize: isList
      ? undefined
      : (px) => choose(column.place, px && Math.round(Math.min(Math.max(px, column.headPx), columnMaxPx))),
  }))
  const [first, ...others] = widths
  return {
    columns,
    hasRangeKeys,
    heads: [...heads, { place: 'updatedAt' } as const],
    totalPx: checkPx + agePx + widths.reduce((sum, width) => sum + width, 0),
    // The key leaves room for other columns on a narrow screen; the last column takes what is left.
    template: `${checkPx}px min(${first}px, 60vw) ${others.map((width) => `${width}px`).join(' ')} minmax(${agePx}px, 1fr)`,
  }
}

const CellMenu = later(
  async () => (await loadLater()).CellMenu,
  (failure) => failure,
)

interface CellButtonProps {
  /** Set here: the grid calls it with the cell that is pointed at, or has the focus. */
  placeAt: { current: (cell: HTMLElement | null) => void }
  open: (cell: HTMLElement) => void
}

/** The cells share one button. It is in the cell that is pointed at. */
const CellButton = ({ placeAt, open }: CellButtonProps) => {
  const at = useSignal<HTMLElement | null>(null)
  const button = useRef<HTMLButtonElement>(null)
  placeAt.current = (cell) => {
    at.value = cell
  }
  useLayoutEffect(() => {
    const cell = at.value?.getBoundingClientRect()
    const frame = button.current?.parentElement?.getBoundingClientRect()
    if (cell === undefined || frame === undefined) return
    button.current!.style.top = `${cell.top - frame.top}px`
    button.current!.style.left = `${cell.right - frame.left - 22}px`
    // Rows above the cell may have come or gone: this runs with every drawing of the grid.
  })
  if (at.value === null || !at.value.isConnected) return null
  return (
    <button
      ref={button}
      type="button"
      class="cell-button"
      tabIndex={-1}
      aria-label="Actions for this value"
      title="Actions for this value (Alt+↓)"
      onClick={() => open(at.value!)}
    >
      ▾
    </button>
  )
}

export const Grid = ({ query, fields, roomPx, openId, open, move, close }: Props) => {
  const { db, table, selection, address } = query
  const rows = query.shown.value
  const selected = selection.ids.value
  const changedId = query.changedId.value
  const marks = query.marks.value
  const element = useRef<HTMLTableElement>(null)
  const body = useRef<HTMLTableSectionElement>(null)
  const menu = useSignal<{ cell: HTMLTableCellElement; row: GridRow; place: Place } | undefined>(undefined)
  const isList = roomPx < listBelowPx
  const { columns, hasRangeKeys, heads, totalPx, template } = useColumns(query, fields, roomPx, isList)

  useLayoutEffect(() => {
    if (!body.current || element.current!.querySelector('[tabindex="0"]')) return
    const last = rows.findIndex(({ id }) => id === query.lastOpenId)
    const cell = body.current.rows[Math.max(last, 0)]?.cells[1]
    if (!cell) return
    makeReachable(element.current!, cell)
    // Back from a record that was open as a page: the reader goes on where they were.
    if (last !== -1 && document.activeElement === document.body) cell.focus({ preventScroll: true })
  })
  useEffect(() => {
    const at = rows.findIndex(({ id }) => id === openId)
    const row = body.current?.rows[at]
    // The cell that has the focus must keep it.
    if (!row || row.querySelector('[tabindex="0"]')) return
    makeReachable(element.current!, row.cells[1]!)
    row.scrollIntoView({ block: 'nearest' })
  }, [openId])

  const focusCell = (rowIndex: number, cellIndex: number): GridRow | undefined => {
    // The head is above the first row. What is in its first cell has a focus of its own.
    const at = Math.min(Math.max(rowIndex, -1), rows.length - 1)
    const cells = element.current!.rows[at + 1]?.cells
    const cell = cells?.[Math.min(Math.max(cellIndex, at === -1 ? 1 : 0), cells.length - 1)]
    if (!cell) return undefined
    makeReachable(element.current!, cell)
    cell.focus()
    return rows[at]
  }

  const place = (
    target: EventTarget | null,
  ): { cell: HTMLTableCellElement; index: number; row: GridRow | undefined } | undefined => {
    const cell = target instanceof Element ? target.closest<HTMLTableCellElement>('td, th') : null
    if (cell === null) return undefined
    const index = (cell.parentElement as HTMLTableRowElement).rowIndex - 1
    return { cell, index, row: rows[index] }
  }

  const onKeyDown = (event: KeyboardEvent): void => {
    const at = place(event.target)
    if (at === undefined) return
    const { cell, index, row } = at
    if (event.altKey && event.key === 'ArrowDown' && row !== undefined) {
      event.preventDefault()
      openMenu(cell, row)
    }
    if (event.altKey) return
    const hasControl = event.ctrlKey || event.metaKey
    const steps: Record<string, readonly [number, number]> = {
      ArrowDown: [index + 1, cell.cellIndex],
      ArrowUp: [index - 1, cell.cellIndex],
      PageDown: [index + pageRows, cell.cellIndex],
      PageUp: [Math.max(index - pageRows, 0), cell.cellIndex],
      ArrowRight: [index, cell.cellIndex + 1],
      ArrowLeft: [index, cell.cellIndex - 1],
      Home: [hasControl ? 0 : index, 0],
      End: [hasControl ? rows.length - 1 : index, Number.MAX_SAFE_INTEGER],
    }
    const step = steps[event.key]
    if (step !== undefined) {
      const next = focusCell(...step)
      if (next !== undefined && row !== undefined && next !== row) {
        if (event.shiftKey)
          selection.extend(
            rows.map(({ id }) => id),
            row.id,
            next.id,
          )
        else selection.rest()
        if (openId !== undefined) move(keysOf(next))
      }
    } else if (row === undefined) return
    else if (event.key === ' ') selection.toggle(row.id)
    else if (event.key === 'Enter') open(keysOf(row))
    else if (event.key === 'Escape' && openId !== undefined) close()
    else if (event.key === 'Escape') selection.all([])
    else if (event.key === 'a' && hasControl) selection.all(rows.map(({ id }) => id))
    else return
    event.preventDefault()
  }

  const onClick = (event: MouseEvent): void => {
    const at = place(event.target)
    if (at?.row === undefined) return
    makeReachable(element.current!, at.cell)
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

  const openMenu = (cell: HTMLTableCellElement, row: GridRow): void => {
    const head = heads[cell.cellIndex - 1]
    if (head === undefined) return
    makeReachable(element.current!, cell)
    menu.value = { cell, row, place: head.place }
  }
  const placeButton = useRef<(cell: HTMLElement | null) => void>(() => {})
  const onPoint = (event: { target: EventTarget | null }): void => {
    const at = element.current!.contains(event.target as Node | null) ? place(event.target) : undefined
    placeButton.current(at?.row !== undefined && at.cell.cellIndex > 0 ? at.cell : null)
  }

  return (
    <div class="grid-frame">
      <table
        ref={element}
        class={isList ? 'grid as-list' : 'grid'}
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: it is a grid, with its keys and its selection
        role="grid"
        aria-multiselectable="true"
        aria-label={`Records of ${table}`}
        style={isList ? undefined : { minWidth: `${totalPx}px`, '--columns': template }}
        onKeyDown={onKeyDown}
        onClick={onClick}
        onPointerOver={onPoint}
        onPointerLeave={(event) => {
          // The button stays for a click on it.
          if (!(event.relatedTarget as Element | null)?.closest?.('.cell-button'))
            onPoint({ target: document.activeElement })
        }}
        onFocusIn={onPoint}
        onContextMenu={(event) => {
          const at = place(event.target)
          // A long press: where nothing hovers there is no button.
          if (at?.row === undefined || !matchMedia('(pointer: coarse)').matches) return
          event.preventDefault()
          openMenu(at.cell, at.row)
        }}
      >
        <Head query={query} columns={heads} />
        <tbody ref={body}>
          {rows.map((row) => (
            <Row
              key={row.id}
              row={row}
              href={hrefOf({ screen: 'record', db, table, ...keysOf(row), query: address })}
              columns={columns}
              hasRangeKeys={hasRangeKeys}
              isSelected={selected.has(row.id)}
              isOpen={row.id === openId}
              isChanged={row.id === changedId}
              mark={marks.get(row.id)}
              isList={isList}
            />
          ))}
        </tbody>
      </table>
      <CellButton
        placeAt={placeButton}
        open={(cell) => {
          const at = place(cell)
          if (at?.row !== undefined) openMenu(at.cell, at.row)
        }}
      />
      {menu.value !== undefined && (
        <CellMenu
          {...menu.value}
          query={query}
          open={() => open(keysOf(menu.value!.row))}
          onClose={() => {
            menu.value = undefined
          }}
        />
      )}
    </div>
  )
}
