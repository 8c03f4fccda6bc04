import { describeValue } from '../../core/describe-value.ts'
import { CubbyError } from '../../core/errors.ts'
import { toolFieldsMax } from '../../core/limits.ts'
import { valueSpan, walkObject } from '../../core/text/json-span.ts'

const exampleOf = (value: unknown): string =>
  JSON.stringify(typeof value === 'string' && value.length <= 80 ? [value.toWellFormed()] : ['status', 'total'])

/** `fields` of a query: names of members of `data`; undefined for all of it. */
export const parseFields = (value: unknown): readonly string[] | undefined => {
  if (value === undefined) return undefined
  const isList = Array.isArray(value) && value.length > 0 && value.length <= toolFieldsMax
  if (isList && value.every((name) => typeof name === 'string')) return value
  throw new CubbyError(
    'invalid_request',
    `fields is ${Array.isArray(value) ? `a list of ${value.length}` : describeValue(value)}; it takes 1 to ${toolFieldsMax} names of members of data.`,
    { field: 'fields', hint: `Write it as ${exampleOf(value)}, or leave it out for all of data.` },
  )
}

/** `data` with only these members, as they were stored, in their order. */
export const pickFields = (data: string, names: readonly string[]): string => {
  const parts: string[] = []
  walkObject(data, 0, undefined, (name, start) => {
    const { start: from, end } = valueSpan(data, start)
    if (names.includes(name)) parts.push(`${JSON.stringify(name)}:${data.slice(from, end)}`)
    return end
  })
  return `{${parts.join(',')}}`
}
