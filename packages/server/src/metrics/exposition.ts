import { cellSizeOf, cellsOf, type Family, labelValuesOf } from './family.ts'

// The two text formats that Prometheus reads:
// https://prometheus.io/docs/instrumenting/exposition_formats/ and https://prometheus.io/docs/specs/om/open_metrics_spec/

export type Format = 'prometheus' | 'openmetrics'

export const contentTypes: Readonly<Record<Format, string>> = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}

const escapeHelp = (text: string, format: Format): string => {
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
  return format === 'openmetrics' ? escaped.replaceAll('"', '\\"') : escaped
}

const escapeValue = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')

const labelsText = (pairs: readonly (readonly [string, string])[]): string =>
  pairs.length === 0 ? '' : `{${pairs.map(([name, value]) => `${name}="${escapeValue(value)}"`).join(',')}}`

/** OpenMetrics wants a bucket of 1 as `1.0`. */
const boundText = (bound: number): string => (Number.isInteger(bound) ? bound.toFixed(1) : String(bound))

const units = ['seconds', 'bytes']

/** The name above the samples. In OpenMetrics it is without the suffix of its type. */
const familyName = ({ name, type }: Family, format: Format): string => {
  if (format === 'prometheus') return name
  return type === 'counter' ? name.replace(/_total$/, '') : type === 'info' ? name.replace(/_info$/, '') : name
}

const headOf = (family: Family, format: Format): string => {
  const name = familyName(family, format)
  const type = family.type === 'info' && format === 'prometheus' ? 'gauge' : family.type
  const unit = format === 'openmetrics' ? units.find((one) => name.endsWith(`_${one}`)) : undefined
  const lines = [`# HELP ${name} ${escapeHelp(family.help, format)}`, `# TYPE ${name} ${type}`]
  if (unit !== undefined) lines.push(`# UNIT ${name} ${unit}`)
  return `${lines.join('\n')}\n`
}

type Pairs = (readonly [string, string])[]

const histogramSamples = ({ name, buckets }: Family, pairs: Pairs, values: Float64Array, start: number): string => {
  let count = 0
  let text = ''
  for (let i = 0; i <= buckets.length; i++) {
    count += values[start + i]!
    const bound = i === buckets.length ? '+Inf' : boundText(buckets[i]!)
    text += `${name}_bucket${labelsText([...pairs, ['le', bound]])} ${count}\n`
  }
  const labels = labelsText(pairs)
  return `${text}${name}_sum${labels} ${values[start + buckets.length + 1]}\n${name}_count${labels} ${count}\n`
}

/** Empty if the cell has no value, or if it is 0 and the family leaves those out. */
const cellText = (family: Family, cell: number, values: Float64Array, start: number): string => {
  const size = cellSizeOf(family)
  if (family.isSparse && values.subarray(start, start + size).every((value) => value === 0)) return ''
  const pairs: Pairs = labelValuesOf(family, cell).map((value, i) => [family.labels[i]!.name, value] as const)
  if (family.type === 'histogram') return histogramSamples(family, pairs, values, start)
  return Number.isNaN(values[start]!) ? '' : `${family.name}${labelsText(pairs)} ${values[start]}\n`
}

/** The text of a scrape. `values` are in the order of the families. A family without a sample is left out. */
export const renderMetrics = (families: readonly Family[], values: Float64Array, format: Format): string => {
  let text = ''
  let at = 0
  for (const family of families) {
    let samples = ''
    for (let cell = 0; cell < cellsOf(family); cell++) {
      samples += cellText(family, cell, values, at)
      at += cellSizeOf(family)
    }
    if (samples !== '') text += headOf(family, format) + samples
  }
  return format === 'openmetrics' ? `${text}# EOF\n` : text
}

/** The weight of one element of Accept; 0 if it is not that format. */
const weightOf = (element: string, type: string, versions: readonly string[]): number => {
  const [name, ...parameters] = element.split(';').map((part) => part.trim().toLowerCase())
  if (name !== type) return 0
  const valueIn = (parameter: string): string | undefined =>
    parameters.find((one) => one.startsWith(`${parameter}=`))?.slice(parameter.length + 1)
  const version = valueIn('version')
  if (version !== undefined && !versions.includes(version)) return 0
  const weight = Number(valueIn('q') ?? 1)
  return weight >= 0 && weight <= 1 ? weight : 0
}

/** The format that a scraper prefers. Prometheus names versions that it can read. Without a preference: the older text. */
export const chooseFormat = (accept: string | undefined): Format => {
  const elements = (accept ?? '').split(',')
  const most = (type: string, versions: readonly string[]): number =>
    Math.max(...elements.map((element) => weightOf(element, type, versions)))
  const openmetrics = most('application/openmetrics-text', ['1.0.0', '0.0.1'])
  return openmetrics > 0 && openmetrics >= most('text/plain', ['0.0.4']) ? 'openmetrics' : 'prometheus'
}
