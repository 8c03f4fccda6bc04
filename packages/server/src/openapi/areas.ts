import type { Area } from '../operations/operation.ts'

/** The parts of the document, each a document of its own, with the chapters that it has. */
export const chaptersOf = {
  tables: ['Tables'],
  records: ['Records', 'Queries and batches'],
  items: ['Items'],
  changes: ['Changes'],
  buckets: ['Buckets'],
  files: ['Files'],
  tasks: ['Tasks'],
  runs: ['Runs'],
  'api-keys': ['API keys'],
  tokens: ['User tokens'],
  service: ['Service'],
} as const satisfies Record<Exclude<Area, 'organizations'> | 'service', readonly string[]>

export type DocumentArea = keyof typeof chaptersOf

export const documentAreas = Object.keys(chaptersOf) as DocumentArea[]
