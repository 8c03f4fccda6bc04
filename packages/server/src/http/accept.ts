/** A longer header is ignored: browsers send a tenth of it, and thousands of elements take milliseconds. */
const headerCharactersMax = 2_048

const weightValue = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/

/** The weight of an element: 1 if it has none, undefined if it is malformed. */
const weightIn = (parameters: string[]): number | undefined => {
  const given = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('q='))
  if (given === undefined) return 1
  return weightValue.test(given.slice(2)) ? Number(given.slice(2)) : undefined
}

/**
 * The weight, 0 to 1, that a header such as Accept gives to the first of `names` that it has; undefined if it has none of
 * them. If it has a name twice, the larger weight counts. Malformed elements are skipped.
 */
const weightOf = (header: string, names: readonly string[]): number | undefined => {
  if (header.length > headerCharactersMax) return undefined
  const weights = new Map<string, number>()
  for (const element of header.toLowerCase().split(',')) {
    const [name, ...parameters] = element.split(';')
    const weight = weightIn(parameters)
    if (weight !== undefined) weights.set(name!.trim(), Math.max(weight, weights.get(name!.trim()) ?? 0))
  }
  const first = names.find((name) => weights.has(name))
  return first === undefined ? undefined : weights.get(first)
}

const typeWeight = (accept: string, type: string, subtype: string): number =>
  weightOf(accept, [`${type}/${subtype}`, `${type}/*`, '*/*']) ?? 0

/**
 * Tells whether the caller would rather have HTML than JSON, as browsers do. A range that includes both, as curl sends it,
 * prefers neither; so does a request without Accept.
 */
export const prefersHtml = (accept: string | null): boolean =>
  accept !== null && typeWeight(accept, 'text', 'html') > typeWeight(accept, 'application', 'json')

/** Tells whether the caller accepts gzip, and does not prefer the plain text. */
export const acceptsGzip = (acceptEncoding: string | null): boolean => {
  if (acceptEncoding === null) return false
  const gzip = weightOf(acceptEncoding, ['gzip', 'x-gzip', '*']) ?? 0
  return gzip > 0 && gzip >= (weightOf(acceptEncoding, ['identity']) ?? 0)
}

/** Tells whether the caller names server-sent events: a range that includes them does not. */
export const namesEvents = (accept: string | null): boolean =>
  accept !== null && (weightOf(accept, ['text/event-stream']) ?? 0) > 0
