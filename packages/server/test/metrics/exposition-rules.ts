// A reader of the two text formats, and the rules of `promtool check metrics`, written from the formats' specifications and
// not from our own writer. It throws at the first line that is not allowed.

export interface Sample {
  name: string
  labels: Readonly<Record<string, string>>
  value: number
}

export interface ReadFamily {
  name: string
  help: string
  type: string
  unit: string | undefined
  samples: Sample[]
}

export type TextFormat = 'prometheus' | 'openmetrics'

const nameRule = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const labelRule = /^[a-zA-Z_][a-zA-Z0-9_]*$/

const readLabels = (text: string, line: string): Record<string, string> => {
  const labels: Record<string, string> = {}
  let rest = text
  while (rest !== '') {
    const found = /^([^=]+)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/.exec(rest)
    if (found === null) throw new Error(`malformed labels: ${line}`)
    const [whole, name, value] = found
    if (!labelRule.test(name!) || name!.startsWith('__')) throw new Error(`label ${name}: ${line}`)
    if (name! in labels) throw new Error(`label ${name} twice: ${line}`)
    labels[name!] = value!.replace(/\\(["\\n])/g, (_, c: string) => (c === 'n' ? '\n' : c))
    rest = rest.slice(whole.length)
  }
  return labels
}

const readSample = (line: string): Sample => {
  const found = /^([^{ ]+)(?:\{(.*)\})? (\S+)$/.exec(line)
  if (found === null) throw new Error(`not a sample: ${line}`)
  const [, name, labels = '', text] = found
  if (!nameRule.test(name!)) throw new Error(`name ${name}: ${line}`)
  const value = text === '+Inf' ? Number.POSITIVE_INFINITY : Number(text)
  if (Number.isNaN(value)) throw new Error(`value ${text}: ${line}`)
  return { name: name!, labels: readLabels(labels, line), value }
}

/** The names that samples of a family may have. */
const sampleNames = ({ name, type }: ReadFamily, format: TextFormat): string[] => {
  if (type === 'histogram') return ['_bucket', '_sum', '_count'].map((suffix) => name + suffix)
  if (format === 'openmetrics' && type === 'counter') return [`${name}_total`]
  if (format === 'openmetrics' && type === 'info') return [`${name}_info`]
  return [name]
}

export const readExposition = (text: string, format: TextFormat): ReadFamily[] => {
  if (!text.endsWith('\n')) throw new Error('the last line has no end')
  const lines = text.slice(0, -1).split('\n')
  if (format === 'openmetrics' && lines.pop() !== '# EOF') throw new Error('# EOF is not the last line')
  const families: ReadFamily[] = []
  const seen = new Set<string>()
  let family: ReadFamily | undefined
  for (const line of lines) {
    const [, word, name, rest] = /^# (HELP|TYPE|UNIT) (\S+) (.*)$/.exec(line) ?? []
    if (word === 'HELP') {
      if (families.some((one) => one.name === name)) throw new Error(`two families ${name}`)
      if (rest!.trim() === '') throw new Error(`no help: ${line}`)
      family = { name: name!, help: rest!, type: '', unit: undefined, samples: [] }
      families.push(family)
    } else if (word !== undefined) {
      if (family?.name !== name || family!.samples.length > 0) throw new Error(`out of its place: ${line}`)
      if (word === 'TYPE') family!.type = rest!
      else family!.unit = rest!
    } else {
      if (line.startsWith('#') || line === '') throw new Error(`neither sample nor description: ${line}`)
      const sample = readSample(line)
      if (family === undefined || !sampleNames(family, format).includes(sample.name)) {
        throw new Error(`a sample of no family here: ${line}`)
      }
      const key = `${sample.name} ${JSON.stringify(Object.entries(sample.labels).sort())}`
      if (seen.has(key)) throw new Error(`twice: ${line}`)
      seen.add(key)
      family.samples.push(sample)
    }
  }
  return families
}

/** Samples of one histogram by the labels other than `le`. */
const checkHistogram = ({ name, samples }: ReadFamily, format: TextFormat): void => {
  const groups = Map.groupBy(samples, ({ labels: { le: _, ...others } }) => JSON.stringify(others))
  for (const [group, own] of groups) {
    const of = (suffix: string): Sample[] => own.filter((sample) => sample.name === name + suffix)
    const [buckets, sums, counts] = [of('_bucket'), of('_sum'), of('_count')]
    const fail = (why: string): never => {
      throw new Error(`${name} ${group}: ${why}`)
    }
    if (sums.length !== 1 || counts.length !== 1) fail('needs one _sum and one _count')
    const bounds = buckets.map(({ labels }) => (labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le)))
    if (bounds.at(-1) !== Number.POSITIVE_INFINITY) fail('its last bucket is not +Inf')
    bounds.forEach((bound, i) => {
      if (i > 0 && !(bound > bounds[i - 1]!)) fail('its buckets do not ascend')
      if (i > 0 && buckets[i]!.value < buckets[i - 1]!.value) fail('its counts are not cumulative')
    })
    if (buckets.at(-1)!.value !== counts[0]!.value) fail('_count differs from +Inf')
    if (format === 'openmetrics' && buckets.some(({ labels }) => /^\d+$/.test(labels.le!))) fail('le is no float')
  }
}

/** Applies the rules of promtool's linter and of the naming conventions. */
export const checkRules = (families: readonly ReadFamily[], format: TextFormat): void => {
  const types = ['counter', 'gauge', 'histogram', ...(format === 'openmetrics' ? ['info'] : [])]
  for (const family of families) {
    const { name, type, unit, samples } = family
    const fail = (why: string): never => {
      throw new Error(`${name}: ${why}`)
    }
    if (!types.includes(type)) fail(`its type is ${type}`)
    if (samples.length === 0) fail('has no sample')
    if (type === 'counter' && samples.some((sample) => !sample.name.endsWith('_total'))) fail('needs _total')
    if (type === 'counter' && samples.some(({ value }) => value < 0)) fail('is negative')
    if (type !== 'counter' && name.endsWith('_total')) fail('only counters end in _total')
    if (/_(count|sum|bucket)$/.test(name)) fail('has the suffix of a histogram')
    if (name.includes(type)) fail('has its type in its name')
    if (/[A-Z:]/.test(name)) fail('is in camel case or has a colon')
    if (/_(ms|milliseconds|minutes|hours|kb|mb|kilobytes|megabytes|percent)(_|$)/.test(name)) fail('has no base unit')
    if (unit !== undefined && !name.endsWith(`_${unit}`)) fail(`has the unit ${unit}`)
    if (type !== 'histogram' && samples.some(({ labels }) => 'le' in labels)) fail('has le')
    if (type === 'histogram') checkHistogram(family, format)
  }
}

/** Reads a text and checks all rules. */
export const readMetrics = (text: string, format: TextFormat = 'prometheus'): ReadFamily[] => {
  const families = readExposition(text, format)
  checkRules(families, format)
  return families
}

/** The sum of the samples with this name and these labels; undefined if there is none. */
export const sumOf = (
  families: readonly ReadFamily[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined => {
  const found = families
    .flatMap(({ samples }) => samples)
    .filter((sample) => sample.name === name)
    .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0)
}
