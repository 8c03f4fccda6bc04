import type { Indices } from '../../api/types.ts'
import { readQuery, writeQuery } from '../../router.ts'
import { checkJson } from '../../text/check.ts'
import { type LoadedView, type Place, placeName } from './loaded-view.ts'
import { hasSecond, type IndexName, newestFirst, type QueryForm, shapeOf, slotsOf } from './query-form.ts'

// A query in the address of its table, so that it can be shared: `index=i1&hash="open"&gte=2026-11-01T00:00:00Z`, each value
// percent-encoded and otherwise as it is typed in the query bar. Defaults are left out. The filter and the order of the loaded
// rows follow: `only=data.status&value="open"&sort=updatedAt&sortOrder=descending`.

const isOrderDefault = ({ index, isAscending }: QueryForm): boolean => isAscending === (index !== 't')

export const writeAddress = (form: QueryForm, indices: Indices): string => {
  const { index, hash, first, low, second, high, isAscending, limit } = form
  const { hashField, rangeField } = shapeOf(index, indices)
  const pairs: [string, string][] = []
  if (index !== 't') pairs.push(['index', index])
  if (hashField !== undefined) pairs.push(['hash', hash])
  if (rangeField !== undefined && first !== '') {
    pairs.push([first, low])
    if (first === 'between') pairs.push(['and', high])
    if (hasSecond(first) && second !== '') pairs.push([second, high])
  }
  if (!isOrderDefault(form)) pairs.push(['order', isAscending ? 'ascending' : 'descending'])
  if (limit !== newestFirst.limit) pairs.push(['limit', limit])
  return writeQuery(pairs)
}

const keyPlaces = ['hashKey', 'rangeKey', 'updatedAt'] as const

/** A field may have the name of a key. */
const placeText = (place: Place): string => (typeof place === 'string' ? '' : 'data.') + placeName(place)

/** Browsers limit the length of addresses. A longer value is a filter of this page only. */
const sharedCharactersMax = 2_000

/** The part of the address for what is shown of the loaded rows. */
export const writeView = ({ only, sort }: LoadedView): string => {
  const pairs: [string, string][] = []
  if (only !== undefined && only.json.length <= sharedCharactersMax)
    pairs.push(['only', placeText(only.place)], ['value', only.json])
  if (sort !== undefined) pairs.push(['sort', placeText(sort.place)])
  if (sort?.isDescending) pairs.push(['sortOrder', 'descending'])
  return writeQuery(pairs)
}

type Take = (name: string) => string | undefined

const readPlace = (name: string, text: string): Place => {
  const key = keyPlaces.find((each) => each === text)
  if (key !== undefined) return key
  if (text.startsWith('data.')) return { field: text.slice('data.'.length) }
  throw new Error(
    `its ${name} is ${JSON.stringify(text)}, not ${keyPlaces.join(', ')} or data. and the name of a field`,
  )
}

const takeView = (take: Take): LoadedView => {
  const view: LoadedView = {}
  const only = take('only')
  if (only !== undefined) {
    const json = take('value') ?? ''
    if (!checkJson(json).ok) throw new Error(`its value is ${JSON.stringify(json)}, which is not JSON`)
    view.only = { place: readPlace('only', only), json }
  }
  const sort = take('sort')
  if (sort === undefined) return view
  const order = take('sortOrder') ?? 'ascending'
  if (order !== 'ascending' && order !== 'descending')
    throw new Error(`its sortOrder is ${JSON.stringify(order)}, not ascending or descending`)
  view.sort = { place: readPlace('sort', sort), isDescending: order === 'descending' }
  return view
}

interface Addressed {
  form: QueryForm
  view: LoadedView
}

const read = (query: string, indices: Indices): Addressed => {
  const pairs = readQuery(query)
  if (pairs === undefined) throw new Error('it is not made of name=value, each percent-encoded')
  const given = new Map(pairs)
  if (given.size < pairs.length) throw new Error('it has a name twice')
  const take: Take = (name) => {
    const value = given.get(name)
    given.delete(name)
    return value
  }
  const names: string[] = ['t', 'key', ...slotsOf(indices)]
  const index = take('index') ?? 't'
  if (!names.includes(index))
    throw new Error(`the table has no index ${JSON.stringify(index)}, only ${names.join(', ')}`)
  const shape = shapeOf(index as IndexName, indices)
  const form = { ...newestFirst, index: index as IndexName, limit: take('limit') ?? newestFirst.limit }
  if (shape.hashField !== undefined) form.hash = take('hash') ?? ''
  const order = take('order')
  if (order !== undefined && order !== 'ascending' && order !== 'descending')
    throw new Error(`its order is ${JSON.stringify(order)}, not ascending or descending`)
  form.isAscending = order === undefined ? index !== 't' : order === 'ascending'
  const allowed = shape.rangeField === undefined ? [] : shape.operators
  const operators = allowed.filter((operator) => given.has(operator))
  // The lower bound is the first one.
  const first = operators.find((operator) => hasSecond(operator)) ?? operators[0]
  if (first !== undefined) {
    form.first = first
    form.low = take(first)!
  }
  if (first === 'between') form.high = take('and') ?? ''
  const second = operators.find((operator) => given.has(operator))
  if (first !== undefined && hasSecond(first) && (second === 'lt' || second === 'lte')) {
    form.second = second
    form.high = take(second)!
  }
  const view = takeView(take)
  const [unused] = given.keys()
  if (unused !== undefined) throw new Error(`${JSON.stringify(unused)} has no meaning in it, or not beside the rest`)
  return { form, view }
}

/** The query bar for this address; or why there is none, to be read after "The query in this address is wrong:". */
export const readAddress = (query: string, indices: Indices): Addressed | { addressFault: string } => {
  try {
    return query === '' ? { form: newestFirst, view: {} } : read(query, indices)
  } catch (fault) {
    return { addressFault: (fault as Error).message }
  }
}
