import { group, type Part, record, type Shape, score } from './load/template.ts'

// The records and requests, the same for every subject.

export const scenarios = ['get', 'put', 'page', 'newest', 'batch', 'mixed'] as const
export type Scenario = (typeof scenarios)[number]

export const scenarioTitles: Record<Scenario, string> = {
  get: 'get by key',
  put: 'durable put',
  page: 'page of 50 by index',
  newest: 'newest 50 by t',
  batch: 'batch of 25',
  mixed: '90 % get, 10 % put',
}

export const pageRows = 50
export const batchRecords = 25

/**
 * The number of records that share an index hash. It is the same at every size, so that a page reads from the whole table.
 */
const groupSize = 500

export const shapeOf = (records: number): Shape => ({ records, groups: Math.max(2, Math.ceil(records / groupSize)) })

// Two indices: (status, score) and (owner, score). Each put has new random values for all three, so it moves in both.
const beforeStatus = '{"status":"group-'
const beforeScore = '","score":'
const beforeOwner = ',"owner":"owner-'
const rest =
  '","title":"A record of the benchmark","text":"Long enough to be a note, an order or a line in a log, and no longer: most records that applications keep have a few hundred bytes and a handful of fields.","tags":["alpha","beta","gamma"],"done":false}'

export const keyPrefix = 'record-'
export const groupPrefix = 'group-'
export const ownerPrefix = 'owner-'

export const dataParts = (): Part[] => [beforeStatus, group, beforeScore, score, beforeOwner, group, rest]

export const recordKey = (plus = 0): Part[] => [keyPrefix, record(plus)]

/** The keys of a batch are spread over the whole table and are all different. */
export const batchPlus = (i: number, shape: Shape): number => i * Math.floor(shape.records / batchRecords)

export interface DataValues {
  status: string
  score: number
  owner: string
}

export const dataText = ({ status, score: number, owner }: DataValues): string =>
  `{"status":"${status}${beforeScore}${number}${beforeOwner.slice(0, -ownerPrefix.length)}${owner}${rest}`

export const drawValues = ({ groups }: Shape): DataValues => {
  const draw = () => String(Math.floor(Math.random() * groups)).padStart(5, '0')
  return {
    status: `${groupPrefix}${draw()}`,
    score: 1e9 + Math.floor(Math.random() * 9e9),
    owner: `${ownerPrefix}${draw()}`,
  }
}

export const keyText = (number: number): string => `${keyPrefix}${String(number).padStart(8, '0')}`
