import { useLayoutEffect, useRef } from 'preact/hooks'
import { indexStringBytesMax } from '../../../../server/src/core/limits.ts'
import type { Slot } from '../../api/types.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { jsonAt, type LoadedView, type Place, placeName, valueWords } from './loaded-view.ts'
import { type QueryForm, slotsOf, withIndex } from './query-form.ts'
import { type GridRow, nameText } from './rows.ts'
import type { TableQuery } from './table-query.ts'

/** The value as the query bar takes it; undefined if no index takes it. */
const indexable = (json: string): string | undefined => {
  if (/^[-\dtf]/.test(json)) return Number.isFinite(Number(json)) || /^[tf]/.test(json) ? json : undefined
  if (!json.startsWith('"')) return undefined
  const value = JSON.parse(json) as string
  return value.isWellFormed() && new TextEncoder().encode(value).length <= indexStringBytesMax ? json : undefined
}

/** The query that finds the records with this value, if an index has it. */
const queryFor = (query: TableQuery, { record }: GridRow, place: Place, json: string): QueryForm | undefined => {
  const form = query.asked.value?.form ?? query.form.value
  if (place === 'hashKey') return { ...withIndex(form, 'key'), hash: record.hashKey }
  const typed = typeof place === 'object' ? indexable(json) : undefined
  if (typed === undefined) return undefined
  const { field } = place as { field: string }
  const slot = slotsOf(query.indices).find((each) => query.indices[each]!.hashField === field)
  if (slot !== undefined) return { ...withIndex(form, slot), hash: typed }
  // The range field of the index that was asked: its hash stays.
  if (form.index === 'key' || form.index === 't' || query.indices[form.index]?.rangeField !== field) return undefined
  return { ...withIndex(form, form.index), hash: form.hash, first: 'eq', low: typed }
}

interface Props {
  query: TableQuery
  cell: HTMLTableCellElement
  row: GridRow
  place: Place
  /** The record. */
  open: () => void
  onClose: () => void
}

/** The actions for the value of a cell. Esc and a click elsewhere close the menu. */
export const CellMenu = ({ query, cell, row, place, open, onClose }: Props) => {
  const element = useRef<HTMLDivElement>(null)
  const json = jsonAt(row, place)
  const form = json === undefined ? undefined : queryFor(query, row, place, json)
  const count = query.rows.value.length.toLocaleString('en')
  useLayoutEffect(() => {
    const menu = element.current!
    menu.showPopover()
    const { bottom, top, left } = cell.getBoundingClientRect()
    const { offsetHeight, offsetWidth } = menu
    // The menu is above the cell if there is no room below it.
    const y = bottom + offsetHeight < innerHeight ? bottom : Math.max(0, top - offsetHeight)
    menu.style.top = `${y}px`
    menu.style.left = `${Math.max(8, Math.min(left, innerWidth - offsetWidth - 8))}px`
    menu.querySelector('button')!.focus()
  }, [])
  const done = (): void => {
    element.current?.hidePopover()
  }
  const act = (work: () => void) => () => {
    done()
    work()
  }
  const view = (part: LoadedView) => act(() => query.look({ ...query.view.value, ...part }))
  return (
    <div
      ref={element}
      popover="auto"
      class="cell-menu"
      role="menu"
      aria-label={json === undefined ? nameText(placeName(place)) : valueWords(place, json)}
      onToggle={(event) => {
        if ((event as unknown as ToggleEvent).newState !== 'closed') return
        if (element.current!.contains(document.activeElement) || document.activeElement === document.body)
          cell.focus({ preventScroll: true })
        onClose()
      }}
      onKeyDown={(event) => {
        const step = ({ ArrowDown: 1, ArrowUp: -1 } as Record<string, number>)[event.key]
        if (event.key === 'Tab') done()
        if (step === undefined) return
        event.preventDefault()
        const buttons = [...element.current!.querySelectorAll('button')]
        buttons.at((buttons.indexOf(document.activeElement as HTMLButtonElement) + step) % buttons.length)!.focus()
      }}
    >
      {form !== undefined && (
        <button
          type="button"
          role="menuitem"
          onClick={act(() => {
            query.change(form)
            query.run()
          })}
        >
          Only {valueWords(place, json!)}{' '}
          <small>
            {form.index === 'key' ? 'by key' : `by ${form.index}`}
            {form.first !== '' && ` with ${query.indices[form.index as Slot]!.hashField} ${form.hash}`}
          </small>
        </button>
      )}
      {json !== undefined && (
        <button type="button" role="menuitem" onClick={view({ only: { place, json } })}>
          Only {valueWords(place, json)} <small>among the {count} loaded</small>
        </button>
      )}
      {(['ascending', 'descending'] as const).map((order) => (
        <button
          key={order}
          type="button"
          role="menuitem"
          onClick={view({ sort: { place, isDescending: order === 'descending' } })}
        >
          Sort {order} <small>the {count} loaded</small>
        </button>
      ))}
      {json !== undefined && <CopyButton label="Copy the value" role="menuitem" text={() => json} />}
      <button type="button" role="menuitem" onClick={act(open)}>
        Open the record
      </button>
    </div>
  )
}
