import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { indexFieldCharactersMax } from '../limits.ts'
import { fieldMeant } from '../members.ts'
import type { RecordToPut } from '../records/record-data.ts'
import { isCheapToBuild } from '../text/json-scan.ts'
import { pickMembers } from '../text/json-span.ts'
import { type EncodedValue, encodeIndexValue, type IndexScalar, indexValueFault } from './index-value.ts'

export const slots = ['i1', 'i2', 'i3', 'i4', 'i5'] as const
export type Slot = (typeof slots)[number]

interface IndexDeclaration {
  hashField: string
  rangeField?: string
}

/** Slots and members are in a fixed order, so that equal declarations have equal JSON. */
export type Indices = Partial<Record<Slot, IndexDeclaration>>

/**
 * A record's entry in each slot: `[i1 hash, i1 range, … i5 hash, i5 range]`, null where it is not in that
 * index. A slot without a range field stores an empty range, never null.
 */
export type IndexEntries = (EncodedValue | null)[]

const refuse = (field: string, message: string, hint?: string): never => {
  throw new CubbyError('invalid_index', `${field} ${message}`, { field, hint })
}

const parseFieldName = (value: unknown, field: string): string => {
  if (typeof value !== 'string')
    return refuse(field, `is ${describeValue(value)}; it takes the name of a field in data.`)
  const characters = value.length > indexFieldCharactersMax ? [...value].length : value.length
  if (characters < 1 || characters > indexFieldCharactersMax) {
    return refuse(field, `has ${characters} characters; it takes 1 to ${indexFieldCharactersMax}.`)
  }
  return value
}

/** The name of a field for an example. */
const shownField = (value: unknown): string =>
  typeof value === 'string' && value.length > 0 && value.length <= 80 ? value.toWellFormed() : 'status'

/** The first of a list of indices, as it is declared. */
const slotsHint = (value: unknown): string => {
  const first: unknown = Array.isArray(value) ? value[0] : value
  const isDeclaration = typeof first === 'object' && first !== null && 'hashField' in first
  const hashField = shownField(isDeclaration ? first.hashField : first)
  return `Write it as ${JSON.stringify({ i1: { hashField } })}.`
}

const slotHint = (declared: Record<string, unknown>): string => {
  const free = slots.find((slot) => !Object.hasOwn(declared, slot))
  return `Slots are i1, i2, i3, i4 and i5${free === undefined ? '' : `; write it as "${free}"`}.`
}

export const parseIndices = (value: unknown): Indices => {
  if (value === undefined) return {}
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refuse(
      'indices',
      `is ${describeValue(value)}; it takes an object keyed by slot, i1 to i5.`,
      slotsHint(value),
    )
  }
  const declared = value as Record<string, unknown>
  for (const name in declared) {
    if (!slots.includes(name as Slot)) {
      refuse(`indices.${name.slice(0, 80).toWellFormed()}`, 'is not a slot.', slotHint(declared))
    }
  }
  const indices: Indices = {}
  for (const slot of slots) {
    if (!Object.hasOwn(declared, slot)) continue
    const field = `indices.${slot}`
    const declaration = declared[slot]
    if (typeof declaration !== 'object' || declaration === null || Array.isArray(declaration)) {
      const hint = `Write it as ${JSON.stringify({ hashField: shownField(declaration) })}.`
      refuse(field, `is ${describeValue(declaration)}; it takes { "hashField": …, "rangeField"?: … }.`, hint)
    }
    const members = declaration as Record<string, unknown>
    for (const name in members) {
      if (name === 'hashField' || name === 'rangeField') continue
      const meant = fieldMeant(name, members, ['hashField', 'rangeField'])
      refuse(
        `${field}.${name.slice(0, 80).toWellFormed()}`,
        'is not a field of an index.',
        meant === undefined ? 'Known fields: hashField, rangeField.' : `Write it as "${meant}".`,
      )
    }
    const hashField = parseFieldName(members.hashField, `${field}.hashField`)
    indices[slot] =
      members.rangeField === undefined
        ? { hashField }
        : { hashField, rangeField: parseFieldName(members.rangeField, `${field}.rangeField`) }
  }
  return indices
}

/** undefined when the field is absent; throws when its value cannot be indexed. */
const encodeField = (data: Record<string, unknown>, name: string, slot: Slot): EncodedValue | undefined => {
  if (!Object.hasOwn(data, name)) return undefined
  const value = data[name]
  const fault = indexValueFault(value)
  if (fault !== undefined) {
    const field = `data.${name.toWellFormed()}`
    throw new CubbyError(
      'invalid_index_value',
      `${field} is ${fault}; index ${slot} takes a string, number or boolean.`,
      {
        field,
        hint: `Store it under another field, or leave ${field} out: the index is sparse.`,
      },
    )
  }
  return encodeIndexValue(value as IndexScalar)
}

const noEntries: readonly null[] = [null, null, null, null, null, null, null, null, null, null]

/** Sparse: without the hash field, or without a declared range field, the record is not in that index. */
export const indexEntries = (indices: Indices, data: Record<string, unknown>): IndexEntries => {
  const entries: IndexEntries = noEntries.slice()
  for (let i = 0; i < slots.length; i++) {
    const slot = slots[i]!
    const declaration = indices[slot]
    if (declaration === undefined) continue
    // Both fields are checked even if one is absent: an invalid value is always rejected.
    const hash = encodeField(data, declaration.hashField, slot)
    const range = declaration.rangeField === undefined ? '' : encodeField(data, declaration.rangeField, slot)
    if (hash === undefined || range === undefined) continue
    entries[2 * i] = hash
    entries[2 * i + 1] = range
  }
  return entries
}

/** The same, from `data` as text or as parsed. Of large data only the declared fields are built. */
export const readIndexEntries = (
  indices: Indices,
  { data, built }: Pick<RecordToPut, 'data' | 'built'>,
): IndexEntries => {
  if (built !== undefined) return indexEntries(indices, built)
  const names: string[] = []
  for (const slot of slots) {
    const declaration = indices[slot]
    if (declaration === undefined) continue
    names.push(declaration.hashField)
    if (declaration.rangeField !== undefined) names.push(declaration.rangeField)
  }
  if (names.length === 0) return noEntries.slice()
  return indexEntries(indices, isCheapToBuild(data) ? JSON.parse(data) : pickMembers(data, names))
}
