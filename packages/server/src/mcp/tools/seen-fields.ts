import type { StoredRecord } from '../../core/records/stored-record.ts'
import { runThrough, type Slices, sliceUnits } from '../../core/slices.ts'
import { ObjectWalk, type Span, valueSpan } from '../../core/text/json-span.ts'
import type { TableAddress } from '../../operations/access.ts'
import { queryRecords } from '../../operations/records/query-records.ts'
import { takeFitting } from './fitting.ts'
import type { ToolCall } from './tool.ts'

// Finds the shape of a table from its newest records. Nothing is built from them: only names and short texts are kept.

const recordsRead = 50
/** Records of the largest size take half as many. A page may have none, if all that it read are expired. */
const pagesMax = 50
/** Objects in objects are looked into to this depth. */
const levelsMax = 3
const fieldsMax = 200
const nameCharactersMax = 100
const exampleCharactersMax = 80

type JsonType = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null'

interface Seen {
  types: Set<JsonType>
  /** Records that have it. */
  count: number
  /** The last record that was counted: {"a.b":1,"a":{"b":2}} has two members with one path. */
  lastRecord: number
  example: string | undefined
}

const typeAt = (text: string, at: number): JsonType => {
  switch (text[at]) {
    case '{':
      return 'object'
    case '[':
      return 'array'
    case '"':
      return 'string'
    case 't':
    case 'f':
      return 'boolean'
    case 'n':
      return 'null'
    default:
      return 'number'
  }
}

const shorten = (text: string): string =>
  text.length <= exampleCharactersMax ? text : `${text.slice(0, exampleCharactersMax - 1).toWellFormed()}…`

/** A string without its quotes; of a number its text; of others the JSON. At most 80 characters. */
const exampleOf = (text: string, { start, end }: Span, type: JsonType): string => {
  const json = text.slice(start, Math.min(end, start + 8 * exampleCharactersMax))
  if (type !== 'string' || json.length < end - start) return shorten(json)
  return shorten(JSON.parse(json) as string)
}

class Fields {
  readonly #seen = new Map<string, Seen>()
  #records = 0
  #isFull = false

  get records(): number {
    return this.#records
  }

  /** Tells whether there were more fields than are kept. */
  get isFull(): boolean {
    return this.#isFull
  }

  addRecord(data: string): void {
    this.#records++
    this.#add(data, 0, '', 1)
  }

  /** Adds the members of the object at `at`. */
  #add(text: string, at: number, prefix: string, level: number): void {
    const walk = new ObjectWalk(text, at, undefined)
    const names = new Set<string>()
    while (walk.next()) {
      const span = valueSpan(text, walk.at)
      const type = typeAt(text, span.start)
      walk.at = span.end
      if (walk.name.length > nameCharactersMax || names.has(walk.name)) continue
      const path = `${prefix}${walk.name}`
      const field = this.#field(path)
      if (field === undefined) continue
      names.add(walk.name)
      if (field.lastRecord !== this.#records) field.count++
      field.lastRecord = this.#records
      field.types.add(type)
      if (type === 'object' && level < levelsMax) this.#add(text, span.start, `${path}.`, level + 1)
      else if (type !== 'null') field.example ??= exampleOf(text, span, type)
    }
  }

  #field(path: string): Seen | undefined {
    let field = this.#seen.get(path)
    if (field !== undefined) return field
    if (this.#seen.size >= fieldsMax) {
      this.#isFull = true
      return undefined
    }
    field = { types: new Set(), count: 0, lastRecord: 0, example: undefined }
    this.#seen.set(path, field)
    return field
  }

  /** Most frequent first; of equally frequent ones in the order in which they were seen. */
  list(): string[] {
    return [...this.#seen]
      .sort(([, a], [, b]) => b.count - a.count)
      .map(([path, { types, count, example }]) =>
        JSON.stringify({ path, types: [...types], share: Math.round((count / this.#records) * 100) / 100, example }),
      )
  }
}

function* readFields(records: readonly StoredRecord[], fields: Fields): Slices<void> {
  let units = 0
  for (const { data } of records) {
    fields.addRecord(data)
    units += data.length
    if (units < sliceUnits) continue
    yield
    units = 0
  }
}

const unitsOf = (records: readonly StoredRecord[]): number => records.reduce((sum, { data }) => sum + data.length, 0)

const newest = {
  index: 't',
  hash: undefined,
  range: undefined,
  select: 'data',
  ascending: false,
} as const

/** JSON texts of at most `bytesMax` together, whether some are left out, and how many records they are from. */
export const seenFields = async (
  call: ToolCall,
  address: TableAddress,
  bytesMax: number,
): Promise<{ fields: string[]; cut: boolean; sampled: number }> => {
  const seen = new Fields()
  // Large records come in several pages.
  let cursor: string | null | undefined
  for (let page = 0; page < pagesMax && cursor !== null && seen.records < recordsRead; ) {
    const query = { ...newest, limit: recordsRead - seen.records, cursor }
    const hasRoom = call.tryTakeRoom('listing')
    const found = await queryRecords(call.access, { ...address, query }, call.nowMs)
    const records = found.records as StoredRecord[]
    // Records that take several turns are memory between them; others are read in this one, and wait for nobody.
    if (!hasRoom && unitsOf(records) > sliceUnits) {
      await call.takeRoom('listing')
      continue
    }
    const slices = readFields(records, seen)
    if (hasRoom) await call.runSlices(slices)
    else runThrough(slices)
    cursor = found.cursor
    page++
  }
  const listed = seen.list()
  const fields = takeFitting(listed, bytesMax)
  return { fields, cut: seen.isFull || fields.length < listed.length, sampled: seen.records }
}
