import type { Column } from './columns.ts'
import { isSamePlace, type Place, placeName } from './loaded-view.ts'
import { nameText } from './rows.ts'
import type { TableQuery } from './table-query.ts'

const stepPx = 16

export interface HeadColumn extends Partial<Pick<Column, 'slots' | 'isNumber'>> {
  place: Place
  /** The width is undefined for the column that takes the rest of the room. */
  widthPx?: number
  /** `px` is undefined for the width that the content needs. */
  resize?: (px: number | undefined) => void
}

/** The handle is moved by mouse. `HeadCell` has the keys that do the same. */
const Handle = ({ widthPx = 0, resize }: HeadColumn) => (
  <span
    class="head-handle"
    aria-hidden="true"
    title="Drag to change the width, double-click to fit"
    onClick={(event) => event.stopPropagation()}
    onDblClick={() => resize!(undefined)}
    onPointerDown={(event) => {
      event.preventDefault()
      event.currentTarget.setPointerCapture(event.pointerId)
      event.currentTarget.dataset.from = String(event.clientX - widthPx)
    }}
    onPointerMove={({ currentTarget, pointerId, clientX }) => {
      if (currentTarget.hasPointerCapture(pointerId)) resize!(clientX - Number(currentTarget.dataset.from))
    }}
  />
)

/** A click sorts what is loaded: up, down, and as the query has it. */
const nextSort = (query: TableQuery, place: Place): void => {
  const { sort } = query.view.value
  const isSorted = isSamePlace(sort?.place, place)
  const next = !isSorted
    ? { place, isDescending: false }
    : sort!.isDescending
      ? undefined
      : { place, isDescending: true }
  query.look({ ...query.view.value, sort: next })
}

const HeadCell = ({ query, column }: { query: TableQuery; column: HeadColumn }) => {
  const { place, slots = [], isNumber, widthPx = 0, resize } = column
  const { sort } = query.view.value
  const isSorted = isSamePlace(sort?.place, place)
  const name = nameText(placeName(place))
  const classes = [place === 'hashKey' && 'grid-key', isNumber && 'num'].filter(Boolean).join(' ')
  return (
    <th
      scope="col"
      class={classes}
      title={`${name}: click to sort the loaded records`}
      aria-sort={isSorted ? (sort!.isDescending ? 'descending' : 'ascending') : undefined}
      onClick={() => nextSort(query, place)}
      onKeyDown={(event) => {
        const isWider = event.key === 'ArrowRight'
        if (event.key === 'Enter' || event.key === ' ') nextSort(query, place)
        else if (event.shiftKey && resize && (isWider || event.key === 'ArrowLeft'))
          resize(widthPx + (isWider ? stepPx : -stepPx))
        else return
        event.preventDefault()
        event.stopPropagation()
      }}
    >
      {name}
      {slots.map((slot) => (
        <span key={slot} class="slot">
          {' '}
          {slot}
        </span>
      ))}
      {isSorted && <span aria-hidden="true"> {sort!.isDescending ? '↓' : '↑'}</span>}
      {resize && <Handle {...column} />}
    </th>
  )
}

export const Head = ({ query, columns }: { query: TableQuery; columns: readonly HeadColumn[] }) => {
  const { selection } = query
  const rows = query.shown.value
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
        {columns.map((column) => (
          <HeadCell key={JSON.stringify(column.place)} query={query} column={column} />
        ))}
      </tr>
    </thead>
  )
}
