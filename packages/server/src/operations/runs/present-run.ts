import type { Run } from '../../core/tasks/run.ts'
import type { Access } from '../access.ts'

interface PresentOptions {
  /** A public key does not read `payload`, `key` and `user`. */
  isPublic?: boolean
  /** Adds `lease` and `leaseUntil`, for the holder. */
  withLease?: boolean
}

/** A run as it is sent. Payload, progress and result are the stored texts: never parsed, never stringified. */
export const runJson = (
  run: Run,
  task: string,
  { isPublic = false, withLease = false }: PresentOptions = {},
): string => {
  const payload = isPublic
    ? ''
    : `,"payload":${run.payload},"key":${JSON.stringify(run.key)},"user":${JSON.stringify(run.user)}`
  const error = run.error === null ? null : JSON.stringify({ code: run.error.code, message: run.error.message })
  const lease = withLease ? `,"lease":${JSON.stringify(run.lease)},"leaseUntil":${run.leaseUntilMs}` : ''
  return (
    `{"id":"${run.id}","task":"${task}","status":"${run.status}"${payload}` +
    `,"runAt":${run.runAtMs},"attempt":${run.attempt},"progress":${run.progress},"result":${run.result}` +
    `,"error":${error},"createdAt":${run.createdAtMs},"updatedAt":${run.updatedAtMs}` +
    `,"finishedAt":${run.finishedAtMs}${lease}}`
  )
}

/** A run as the caller may read it. */
export const presentRun =
  ({ apiKey }: Pick<Access, 'apiKey'>, task: string) =>
  (run: Run): string =>
    runJson(run, task, { isPublic: apiKey.kind === 'public' })
