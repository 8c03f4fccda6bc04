const weightValue = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/

/** The weight of a media range: 1 if it has none, undefined if it is malformed. */
const weightIn = (parameters: string[]): number | undefined => {
  const given = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('q='))
  if (given === undefined) return 1
  return weightValue.test(given.slice(2)) ? Number(given.slice(2)) : undefined
}

/** The weight that an Accept header gives to a media type: that of the most specific range that includes it, otherwise 0. */
const weightOf = (accept: string, type: string, subtype: string): number => {
  const lessToMoreSpecific = ['*/*', `${type}/*`, `${type}/${subtype}`]
  let best = { specific: -1, weight: 0 }
  for (const part of accept.toLowerCase().split(',')) {
    const [range, ...parameters] = part.split(';')
    const specific = lessToMoreSpecific.indexOf(range!.trim())
    const weight = weightIn(parameters)
    if (specific < 0 || weight === undefined) continue
    const better = specific === best.specific ? weight > best.weight : specific > best.specific
    if (better) best = { specific, weight }
  }
  return best.weight
}

/**
 * Whether the caller would rather have HTML than JSON, as browsers do. A range that includes both, as curl sends it, prefers
 * neither; so does a request without Accept.
 */
export const prefersHtml = (accept: string | null): boolean =>
  accept !== null && weightOf(accept, 'text', 'html') > weightOf(accept, 'application', 'json')
