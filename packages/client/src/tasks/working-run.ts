import type { SaveData } from '../records/typed-table.ts'
import type { RequestOptions } from '../transport/transport.ts'
import type { TaskClaim } from './typed-task.ts'

/** A table, or a task: what a batch may be sent to. */
export interface BatchTarget {
  batch(operations: readonly never[], options?: RequestOptions): Promise<{ count: number; runs?: string[] }>
}

/** A run in the hands of a worker. The worker extends its lease until the handler has ended. */
export interface WorkingRun<Payload, Result> extends Omit<TaskClaim<Payload, Result>, 'progress'> {
  /**
   * Aborts when the lease is lost: the run was cancelled, or the server could not be reached in time and may have
   * started another attempt. It also aborts when the worker has to stop and its `graceMs` are over.
   */
  readonly signal: AbortSignal
  /** The progress that an earlier attempt reported last. */
  readonly lastProgress: TaskClaim<Payload, Result>['progress']
  /** Reports progress, which everybody who reads the run sees, and extends the lease. At most 4,096 bytes of JSON. */
  progress(progress: object): Promise<void>
  /**
   * Finishes the run in the same batch as these operations: all of it is applied or none. So what the handler writes is
   * written once, even if the run is attempted twice. What the handler returns after that is ignored.
   */
  finishWith<Target extends BatchTarget>(
    target: Target,
    operations: Parameters<Target['batch']>[0],
    result?: SaveData<Result>,
  ): Promise<void>
}

// biome-ignore lint/suspicious/noConfusingVoidType: a handler without a result is a function without return.
export type HandlerResult<Result> = SaveData<Result> | undefined | void

/** The value that it returns is the result of the run. If it throws, the attempt has failed: `RunFailed` says how to go on. */
export type Handler<Payload, Result> = (
  run: WorkingRun<Payload, Result>,
) => HandlerResult<Result> | Promise<HandlerResult<Result>>

export interface WorkOptions {
  /** The number of runs that are worked on at once. Default 1. */
  concurrency?: number
  /** Stops the worker: nothing more is claimed, and handlers that are running may finish. */
  signal?: AbortSignal
  /** The time that handlers may go on after that, before `run.signal` aborts. Default 20,000. */
  graceMs?: number
  /** Default: as declared. After a crash of the worker, its runs are attempted again when their leases have expired. */
  leaseSeconds?: number
  /**
   * Called with each error that the worker survives, with the run if there is one: the server cannot be reached, the
   * handler has failed, or a lease was lost.
   */
  onError?: (error: unknown, run?: { id: string; task: string; attempt: number }) => void
}
