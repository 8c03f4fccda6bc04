import { ApiError } from '../../api/error.ts'
import { pathOf, read, send } from '../../api/request.ts'
import type { RecordRow } from '../../api/types.ts'
import type { RecordKey } from './record-key.ts'

export const recordPath = (db: string, table: string, { hashKey, rangeKey }: RecordKey): string =>
  pathOf('v1', db, table, hashKey, ...(rangeKey === undefined ? [] : [rangeKey]))

/** `data` is put in as it is: nothing parses it and prints it again. */
export const putBody = ({ hashKey, rangeKey }: RecordKey, data: string, ttlSeconds: number | undefined): string => {
  const range = rangeKey === undefined ? '' : `,"rangeKey":${JSON.stringify(rangeKey)}`
  const ttl = ttlSeconds === undefined ? '' : `,"ttl":${ttlSeconds}`
  return `{"hashKey":${JSON.stringify(hashKey)}${range},"data":${data}${ttl}}`
}

/** `version` is the one that is replaced; undefined: only if there is no such record. */
export const conditionOf = (version: number | undefined): Record<string, string> =>
  version === undefined ? { 'If-None-Match': '*' } : { 'If-Match': `"${version}"` }

/** The result is undefined if there is no such record. */
export const readRecord = async (
  db: string,
  table: string,
  key: RecordKey,
  signal?: AbortSignal,
): Promise<RecordRow | undefined> => {
  try {
    return await read<RecordRow>('GET', recordPath(db, table, key), { signal })
  } catch (error) {
    if (error instanceof ApiError && error.code === 'record_not_found') return undefined
    throw error
  }
}

export const putRecord = (
  db: string,
  table: string,
  key: RecordKey,
  data: string,
  ttlSeconds: number | undefined,
  version: number | undefined,
): Promise<RecordRow> =>
  read<RecordRow>('PUT', pathOf('v1', db, table), {
    body: putBody(key, data, ttlSeconds),
    headers: conditionOf(version),
  })

export const deleteRecord = async (db: string, table: string, key: RecordKey, version: number): Promise<void> => {
  await send('DELETE', recordPath(db, table, key), { headers: conditionOf(version) })
}

export const isConflict = (error: unknown): boolean => error instanceof ApiError && error.status === 412
