import { conditionHeaders, effectOf, parseCondition } from '../records/condition.ts'
import type { Condition } from '../records/typed-table.ts'
import { Collections } from '../tables/collections.ts'
import { isCode } from '../transport/errors.ts'
import type { RequestOptions, Send } from '../transport/transport.ts'
import type {
  ActiveTask,
  CreateTaskSecretRequest,
  CreateTaskSecretResponse,
  DeclaredTask,
  DeclareTaskRequest,
  DeletedTask,
} from '../transport/wire-tasks.ts'

/**
 * The declaration of a task, without the members that only the server knows. The task has `null` for members that were not
 * declared.
 */
const declarationOf = (task: ActiveTask): DeclareTaskRequest => {
  const { db, task: name, oldestRunAt, counts, status, createdAt, updatedAt, schedule, ...fields } = task
  // JSON has no member that is undefined.
  const given = { ...fields, schedule: schedule && { ...schedule, nextRunAt: undefined } }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
}

/** The tasks of one database. With `counts: true`, `describe` and `list` also return how many runs have each status. */
export class Tasks extends Collections<ActiveTask, DeletedTask, 'tasks', { counts?: boolean }> {
  /** @internal */
  static override readonly name: string = 'Tasks'

  /** Use `db('app').tasks` instead. */
  constructor(send: Send, path: string) {
    super(send, `${path}/_tasks`, 'task')
  }

  /**
   * Declares a task, or replaces its declaration as a whole. The first one with `url` returns `secret`, which signs the
   * pushes and is shown only once.
   */
  async declare(
    name: string,
    declaration: DeclareTaskRequest<object> = {},
    options: RequestOptions & Condition = {},
  ): Promise<DeclaredTask> {
    const condition = parseCondition(options)
    return this.send(
      {
        method: 'PUT',
        path: this.pathOf(name),
        effect: effectOf(typeof condition === 'number'),
        body: JSON.stringify(declaration),
        headers: conditionHeaders(condition),
      },
      options,
    )
  }

  /** Nothing is handed out, pushed or scheduled until `resume`. Runs may still be added. */
  async pause(name: string, options?: RequestOptions): Promise<ActiveTask> {
    return this.#setPaused(name, true, options)
  }

  async resume(name: string, options?: RequestOptions): Promise<ActiveTask> {
    return this.#setPaused(name, false, options)
  }

  /** Replaces the declaration that it has read, and only that one. */
  async #setPaused(name: string, paused: boolean, options?: RequestOptions): Promise<ActiveTask> {
    for (;;) {
      const task = await this.describe(name, options)
      if (task.paused === paused) return task
      try {
        const declaration = { ...declarationOf(task), paused }
        return await this.declare(name, declaration, { ...options, ifMatch: task.updatedAt })
      } catch (error) {
        // Somebody declared it in between: read again.
        if (!isCode(error, 'precondition_failed')) throw error
      }
    }
  }

  /** A new secret that signs pushes. For 24 hours the one before signs too, unless `revokeOld`. It is shown only once. */
  async createSecret(
    name: string,
    secret?: CreateTaskSecretRequest,
    options?: RequestOptions,
  ): Promise<CreateTaskSecretResponse> {
    return this.post(`${this.pathOf(name)}/secret`, secret, options)
  }
}
