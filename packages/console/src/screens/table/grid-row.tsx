import { Component } from 'preact'
import { Time } from '../../ui/time.tsx'
import type { Column } from './columns.ts'
import { cellAt, type GridRow, keyText, nameText } from './rows.ts'
import type { RowMark } from './table-query.ts'

const cutTitle = 'Cut after 200 characters. Open the record to see all of it.'

const FieldCell = ({ row, name, label }: { row: GridRow; name: string; label?: string }) => {
  const cell = cellAt(row, name)
  if (cell === undefined) return <td />
  const { kind, text, isCut } = cell
  return (
    <td
      data-label={label}
      class={kind === 'number' ? 'json-number num' : `json-${kind}`}
      title={isCut ? cutTitle : undefined}
    >
      {/* The sign is text, so that it is copied too. */}
      {isCut ? `${text}…` : text}
    </td>
  )
}

const Expiry = ({ ttl }: { ttl: number }) => (
  <small>
    {' '}
    · expires <Time ms={ttl * 1000} />
  </small>
)

/** A sign and a word, so that colour is not all there is. */
const MarkSign = ({ mark }: { mark: RowMark }) => {
  const isAdded = mark.startsWith('added')
  const word = isAdded ? 'new' : 'changed'
  return (
    <span class="row-mark" title={word}>
      <span aria-hidden="true">{isAdded ? '+' : '~'}</span>
      <span class="offscreen">{word}</span>
    </span>
  )
}

interface Props {
  row: GridRow
  href: string
  columns: readonly Column[]
  hasRangeKeys: boolean
  isSelected: boolean
  isOpen: boolean
  isChanged: boolean
  /** Somebody else has just written the row. */
  mark: RowMark | undefined
  /** Each value says its column: there is no room for a table. */
  isList: boolean
}

/** A row is drawn again only if something of its own has changed: a page has up to 1,000 rows. The grid handles the events. */
export class Row extends Component<Props> {
  override shouldComponentUpdate(next: Props): boolean {
    return (Object.keys(next) as (keyof Props)[]).some((name) => next[name] !== this.props[name])
  }

  override render({ row, href, columns, hasRangeKeys, isSelected, isOpen, isChanged, mark, isList }: Props) {
    const { record } = row
    return (
      <tr
        class={`${isOpen ? 'open' : ''}${isChanged ? ' changed' : ''}${mark === undefined ? '' : ` marked ${mark}`}`}
        aria-selected={isSelected}
        aria-current={isOpen ? 'true' : undefined}
      >
        <td class="grid-check">
          <input type="checkbox" tabIndex={-1} checked={isSelected} aria-label={`Select ${keyText(record)}`} />
          {mark !== undefined && <MarkSign mark={mark} />}
        </td>
        <th scope="row" class="grid-key">
          <a href={href} tabIndex={-1}>
            {nameText(record.hashKey)}
          </a>
        </th>
        {hasRangeKeys && (
          <td data-label={isList ? 'rangeKey' : undefined}>
            {record.rangeKey === undefined ? '' : nameText(record.rangeKey)}
          </td>
        )}
        {columns.map(({ name }) => (
          <FieldCell key={name} row={row} name={name} label={isList ? nameText(name) : undefined} />
        ))}
        <td class="grid-age" data-label={isList ? 'updatedAt' : undefined}>
          <Time ms={record.updatedAt} />
          {record.ttl !== undefined && <Expiry ttl={record.ttl} />}
        </td>
      </tr>
    )
  }
}
