/** Describes a value in a few words that are safe to print: `an array`, `"Orders"`. */
export const describeValue = (value: unknown): string => {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object') return 'an object'
  if (typeof value === 'string') {
    const shown = value.length > 80 ? `${value.slice(0, 80)}…` : value
    return JSON.stringify(shown.toWellFormed())
  }
  return String(value)
}
