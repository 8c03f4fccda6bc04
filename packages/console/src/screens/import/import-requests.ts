import { ApiError, errorOf } from '../../api/error.ts'
import { exchange, pathOf, read, send } from '../../api/request.ts'
import type { Indices, TableMetadata } from '../../api/types.ts'

const attemptsMax = 8
const delayMsMax = 5_000

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** 503 promises that nothing was applied; without an answer it may have been, and to put the same again changes nothing. */
const isWorthRepeating = (status: number): boolean => status === 503 || status === 0

const attempt = async (path: string, body: string): Promise<{ error: ApiError; retryAfterMs: number } | undefined> => {
  try {
    const { status, text, headers } = await exchange('POST', path, { body })
    if (status < 400) return undefined
    const error = errorOf(status, text, headers.get('x-request-id'))
    return { error, retryAfterMs: (Number(headers.get('retry-after')) || 0) * 1_000 }
  } catch (error) {
    return { error: error as ApiError, retryAfterMs: 0 }
  }
}

interface Steps {
  isStopped: () => boolean
  /** Throws if the key of the session is not that of the import's organization any more. Called before each request. */
  checkOwner: () => void
}

/** The request is repeated while the server is busy or restarts, unless `isStopped`. */
const post = async (path: string, body: string, { isStopped, checkOwner }: Steps): Promise<void> => {
  for (let attempts = 1; ; attempts++) {
    checkOwner()
    const failed = await attempt(path, body)
    if (failed === undefined) return
    const { error, retryAfterMs } = failed
    if (!isWorthRepeating(error.status) || attempts >= attemptsMax || isStopped()) {
      // If the key is refused, this leads to sign-in.
      if (error.status === 401 || error.status === 403) await send('GET', '/api/keys/self')
      throw error
    }
    await wait(Math.min(delayMsMax, Math.max(retryAfterMs, 100 * 2 ** attempts)))
  }
}

export interface Operation {
  line: number
  operation: string
}

export interface Refused {
  line: number
  reason: string
}

export const reasonOf = ({ message, hint }: ApiError): string =>
  [message, hint]
    .filter((part) => part !== undefined)
    .join(' ')
    .replaceAll(/\boperations\[\d+\]\.?/g, '')

/** A fault of one record, and of which; undefined if it is of the whole request. */
const faultyOperation = ({ field }: ApiError): number | undefined => {
  const [, position] = /^operations\[(\d+)\]/.exec(field ?? '') ?? []
  return position === undefined ? undefined : Number(position)
}

/** Puts all but those that the server rejects. Throws what is not the fault of single records. */
export const putBatch = async (
  db: string,
  table: string,
  operations: Operation[],
  steps: Steps,
): Promise<Refused[]> => {
  const refused: Refused[] = []
  const putAll = async (part: Operation[]): Promise<void> => {
    if (part.length === 0) return
    const body = `{"operations":[${part.map(({ operation }) => operation).join(',')}]}`
    try {
      await post(`${pathOf('v1', db, table)}/batch`, body, steps)
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status !== 400 && error.status !== 413)) throw error
      const at = faultyOperation(error)
      const isFound = at !== undefined && at < part.length
      if (isFound || part.length === 1) {
        const [bad] = part.splice(at ?? 0, 1)
        refused.push({ line: bad!.line, reason: reasonOf(error) })
        return putAll(part)
      }
      const half = part.length >> 1
      await putAll(part.slice(0, half))
      await putAll(part.slice(half))
    }
  }
  await putAll([...operations])
  return refused
}

/** The result is undefined if there is no such table. */
export const findIndices = async (db: string, table: string): Promise<Indices | undefined> => {
  try {
    return (await read<TableMetadata>('GET', pathOf('v1', db, table))).indices
  } catch (error) {
    if (error instanceof ApiError && error.code === 'table_not_found') return undefined
    throw error
  }
}

/** The new table's indices, or those of the one that is there. */
export const createTable = async (db: string, table: string, indices: string): Promise<Indices> => {
  try {
    return (await read<TableMetadata>('POST', pathOf('v1', db, table), { body: `{"indices":${indices}}` })).indices
  } catch (error) {
    const found = error instanceof ApiError && error.code === 'table_exists' ? await findIndices(db, table) : undefined
    if (found === undefined) throw error
    return found
  }
}
