import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import { showInstant } from '../../text/instant.ts'
import { useMedia } from '../../ui/media.ts'
import { askedWords } from './empty-words.ts'
import { dayTime, type ReadOperand } from './operand.ts'
import {
  boundReader,
  type FormField,
  hasSecond,
  type IndexName,
  indexLabel,
  type Operator,
  operatorWords,
  type QueryForm,
  shapeOf,
  slotsOf,
  withIndex,
} from './query-form.ts'
import { nameText } from './rows.ts'
import type { TableQuery } from './table-query.ts'

const narrow = matchMedia('(max-width: 767px)')

interface ValueProps {
  query: TableQuery
  field: FormField & ('hash' | 'low' | 'high')
  label: string
  placeholder: string
  read: (typed: string) => ReadOperand
  isFirst?: boolean
  onFocused?: (isFocused: boolean) => void
}

const Value = ({ query, field, label, placeholder, read, isFirst, onFocused }: ValueProps) => {
  const typed = query.form.value[field]
  const operand = read(typed)
  const kind = 'fault' in operand || operand.instantMs !== undefined ? '' : `json-${operand.kind}`
  return (
    <input
      class={`mono ${kind}`}
      name={field}
      aria-label={label}
      aria-invalid={query.fault.value?.field === field}
      placeholder={placeholder}
      autocomplete="off"
      autocapitalize="off"
      spellcheck={false}
      data-focus-key={isFirst ? '/' : undefined}
      // The field is as wide as its text, within bounds.
      size={Math.min(Math.max(typed.length, placeholder.length, 8), 26)}
      value={typed}
      onInput={(event) => {
        query.change({ [field]: event.currentTarget.value })
        onFocused?.(true)
      }}
      onFocus={() => onFocused?.(true)}
      onBlur={() => {
        onFocused?.(false)
        query.settle()
      }}
    />
  )
}

/** The instant that a bound means, while the reader is in it. */
const BoundNote = ({
  typed,
  read,
  operator,
}: {
  typed: string
  read: (typed: string) => ReadOperand
  operator: string
}) => {
  const operand = read(typed)
  if ('fault' in operand || operand.instantMs === undefined) return null
  const { local, utc } = showInstant(operand.instantMs)
  return (
    <div class="query-note">
      <span class="label">here</span> <span class="mono">{local}</span>
      <span class="label">UTC</span> <span class="mono">{utc}</span>
      {dayTime(typed, 'start') !== undefined && (
        <p>
          {operator === 'lt' ? 'This day is not included; ≤ includes it. ' : ''}
          The text of a date has quotes: <code>"{typed.trim()}"</code>
        </p>
      )}
    </div>
  )
}

const Range = ({ query }: { query: TableQuery }) => {
  const focused = useSignal<'low' | 'high' | undefined>(undefined)
  const asked = query.asked.value
  // Once the query has run, nothing covers the controls below.
  useEffect(() => {
    focused.value = undefined
  }, [asked])
  const form = query.form.value
  const shape = shapeOf(form.index, query.indices)
  const { rangeField, operators } = shape
  if (rangeField === undefined) return null
  const name = nameText(rangeField)
  const read = (bound: 'low' | 'high') => boundReader(form, shape, bound)
  const isKey = form.index === 'key'
  const placeholder =
    form.first === 'beginsWith' ? 'prefix' : isKey ? 'key' : form.index === 't' ? 'date-time' : 'value'
  const watch = (field: 'low' | 'high') => (isFocused: boolean) => {
    focused.value = isFocused ? field : undefined
  }
  const hasHigh = form.first === 'between' || (hasSecond(form.first) && form.second !== '')
  const noted = focused.value
  return (
    <>
      <div class="part">
        <span class="part-name" title={name}>
          {name}
        </span>
        <select
          aria-label={`Condition on ${name}`}
          value={form.first}
          onChange={(event) => query.change({ first: event.currentTarget.value as Operator | '' })}
        >
          <option value="">any</option>
          {operators.map((operator) => (
            <option key={operator} value={operator}>
              {operatorWords[operator]}
            </option>
          ))}
        </select>
        {form.first !== '' && (
          <Value
            query={query}
            field="low"
            label={`${name} ${operatorWords[form.first]}`}
            placeholder={placeholder}
            read={read('low')}
            onFocused={watch('low')}
          />
        )}
        {form.first === 'between' && <span class="part-name">and</span>}
        {hasSecond(form.first) && (
          <select
            aria-label={`Upper bound of ${name}`}
            value={form.second}
            onChange={(event) => query.change({ second: event.currentTarget.value as QueryForm['second'] })}
          >
            <option value="">no end</option>
            <option value="lte">{operatorWords.lte}</option>
            <option value="lt">{operatorWords.lt}</option>
          </select>
        )}
        {hasHigh && (
          <Value
            query={query}
            field="high"
            label={`${name} ${form.second === '' || form.first === 'between' ? 'and' : operatorWords[form.second]}`}
            placeholder={placeholder}
            read={read('high')}
            onFocused={watch('high')}
          />
        )}
      </div>
      {noted !== undefined && (
        <BoundNote typed={form[noted]} read={read(noted)} operator={noted === 'low' ? form.first : form.second} />
      )}
    </>
  )
}

/** The folded bar of a phone shows the query, and opens the bar. */
const Fold = ({ query, isOpen }: { query: TableQuery; isOpen: Signal<boolean> }) => {
  const { form, indices } = query
  const asked = askedWords(form.value, indices)
  return (
    <button
      type="button"
      class="query-fold"
      aria-expanded={isOpen.value}
      data-focus-key="/"
      onClick={() => {
        isOpen.value = !isOpen.value
      }}
    >
      <span class="muted">{nameText(indexLabel(form.value.index, indices))}</span>{' '}
      <span class="mono">{nameText(asked)}</span>
    </button>
  )
}

/** Reads as a sentence: index, its hash field and value, its range field with its bounds, order, limit, Run. */
export const QueryBar = ({ query, onShowRequest }: { query: TableQuery; onShowRequest: () => void }) => {
  const element = useRef<HTMLFormElement>(null)
  const faultId = useId()
  const form = query.form.value
  const fault = query.fault.value
  const shape = shapeOf(form.index, query.indices)
  const isNewest = form.index === 't'
  const isNarrow = useMedia(narrow)
  const isOpen = useSignal(false)
  // Once the query has run, there is room for what it found.
  useEffect(() => {
    isOpen.value = false
  }, [query.asked.value])
  const indexNames: IndexName[] = ['t', 'key', ...slotsOf(query.indices)]
  useEffect(() => {
    if (fault) element.current?.querySelector<HTMLElement>(`[name=${fault.field}]`)?.focus()
  }, [fault])
  const bar = (
    <form
      ref={element}
      class="query-bar"
      hidden={isNarrow && !isOpen.value && fault === undefined}
      aria-label="Query"
      aria-describedby={fault && faultId}
      onSubmit={(event) => {
        event.preventDefault()
        query.run()
      }}
    >
      <label class="part">
        <span class="part-name">index</span>
        <select
          data-focus-key={isNewest ? '/' : undefined}
          value={form.index}
          onChange={(event) => query.change(withIndex(form, event.currentTarget.value as IndexName))}
        >
          {indexNames.map((index) => (
            <option key={index} value={index}>
              {nameText(indexLabel(index, query.indices))}
            </option>
          ))}
        </select>
      </label>
      {shape.hashField !== undefined && (
        <div class="part">
          <span class="part-name" title={nameText(shape.hashField)}>
            {nameText(shape.hashField)}
          </span>
          <Value
            query={query}
            field="hash"
            label={nameText(shape.hashField)}
            placeholder={form.index === 'key' ? 'key' : 'value'}
            read={shape.readHash}
            isFirst
          />
        </div>
      )}
      <Range query={query} />
      <label class="part">
        <span class="part-name">order</span>
        <select
          value={String(form.isAscending)}
          onChange={(event) => query.change({ isAscending: event.currentTarget.value === 'true' })}
        >
          <option value="false">{isNewest ? 'newest first' : 'descending'}</option>
          <option value="true">{isNewest ? 'oldest first' : 'ascending'}</option>
        </select>
      </label>
      <label class="part">
        <span class="part-name">limit</span>
        <input
          class="mono"
          name="limit"
          inputMode="numeric"
          size={4}
          autocomplete="off"
          aria-invalid={fault?.field === 'limit'}
          value={form.limit}
          onInput={(event) => query.change({ limit: event.currentTarget.value })}
        />
      </label>
      <button type="submit" class="filled">
        Run{' '}
        <span aria-hidden="true">
          <kbd>⏎</kbd>
        </span>
      </button>
      <button type="button" onClick={onShowRequest}>
        Show request
      </button>
      {fault && (
        <p id={faultId} class="query-fault" role="alert">
          <strong>Error:</strong> {fault.fault}
        </p>
      )}
    </form>
  )
  return (
    <>
      {isNarrow && <Fold query={query} isOpen={isOpen} />}
      {bar}
    </>
  )
}
