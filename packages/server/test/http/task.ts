import { waitSecondsMax } from '../../src/core/limits.ts'
import type { Api, ApiResponse, Json } from '../harness.ts'
import { freshName, ok } from './service.ts'

/** A task of the test's own. */
export class TestTask {
  readonly api: Api
  readonly db: string
  readonly name: string

  constructor(api: Api, name: string, db = 'app') {
    this.api = api
    this.db = db
    this.name = name
  }

  get path(): string {
    return `/v1/${this.db}/_tasks/${this.name}`
  }

  at(run: string, verb?: string): string {
    return `${this.path}/runs/${encodeURIComponent(run)}${verb === undefined ? '' : `/${verb}`}`
  }

  async declare(declaration: Json = {}): Promise<Json> {
    const answer = await this.api.put(this.path, declaration)
    return ok(answer, answer.status === 201 ? 201 : 200)
  }

  tryRun(run?: Json): Promise<ApiResponse> {
    return this.api.post(`${this.path}/run`, run)
  }

  /** Adds a run that did not exist. */
  async run(run: Json = {}): Promise<Json> {
    return ok(await this.tryRun(run), 201)
  }

  get(run: string, query = ''): Promise<ApiResponse> {
    return this.api.get(`${this.at(run)}${query}`)
  }

  async read(run: string): Promise<Json> {
    return ok(await this.get(run))
  }

  tryClaim(claim?: Json): Promise<ApiResponse> {
    return this.api.post(`${this.path}/claim`, claim)
  }

  async claim(claim?: Json): Promise<Json[]> {
    return ok(await this.tryClaim(claim)).runs
  }

  /** Adds a run and claims it: it must be the only one that is due. */
  async claimNew(run: Json = {}, claim?: Json): Promise<Json> {
    await this.run(run)
    const [claimed] = await this.claim(claim)
    return claimed
  }

  tryFinish({ id, lease }: Json, how: Json = {}): Promise<ApiResponse> {
    return this.api.post(this.at(id, 'finish'), { lease, ...how })
  }

  async finish(claimed: Json, how?: Json): Promise<Json> {
    return ok(await this.tryFinish(claimed, how))
  }

  /** Fails the attempt. */
  fail(claimed: Json, more: Json = {}): Promise<Json> {
    return this.finish(claimed, { error: { message: 'no' }, ...more })
  }

  extend({ id, lease }: Json, more: Json = {}): Promise<ApiResponse> {
    return this.api.post(this.at(id, 'extend'), { lease, ...more })
  }

  cancel(id: string): Promise<ApiResponse> {
    return this.api.post(this.at(id, 'cancel'))
  }

  retry(id: string): Promise<ApiResponse> {
    return this.api.post(this.at(id, 'retry'))
  }

  tryQuery(query?: Json): Promise<ApiResponse> {
    return this.api.post(`${this.path}/query`, query)
  }

  async query(query?: Json): Promise<Json> {
    return ok(await this.tryQuery(query))
  }

  /** The ids that a query gives, all pages. */
  async ids(query: Json = {}): Promise<string[]> {
    const ids: string[] = []
    let cursor: string | null = null
    for (let pages = 0; pages < 1_000; pages++) {
      const page: Json = await this.query({ ...query, cursor })
      ids.push(...page.items.map((item: Json) => item.id))
      if (page.cursor === null) return ids
      cursor = page.cursor
    }
    throw new Error('the cursor never becomes null')
  }

  tryBatch(operations: Json): Promise<ApiResponse> {
    return this.api.post(`${this.path}/batch`, { operations })
  }
}

export const makeTask = async (
  api: Api,
  declaration: Json = {},
  name = freshName('task'),
  db = 'app',
): Promise<TestTask> => {
  const task = new TestTask(api, name, db)
  await task.declare(declaration)
  return task
}

/**
 * A claim that nothing ends, for as long as a request may wait. Whatever is sent after it, waits as long and is not woken ends
 * after it: so a test that finds it still waiting has been answered early, however slow the machine is.
 */
export const longestWait = async (api: Api): Promise<{ isOver: boolean }> => {
  const wait = { isOver: false }
  const over = (): void => {
    wait.isOver = true
  }
  const task = await makeTask(api)
  task.tryClaim({ waitSeconds: waitSecondsMax }).then(over, over)
  await Bun.sleep(100)
  return wait
}
