import { join } from 'node:path'
import { type Api, eventually, makeTempDir, removeTempDir, runCubbyJson, type Server, startServer } from '../harness.ts'
import type { Random } from '../model/random.ts'
import type { SharedPostgres } from '../postgres-server.ts'
import { isAlive, workersOf } from '../worker-processes.ts'

/** The processes that serve one store, of which a history kills one now and then. */
export class Stage {
  readonly servers: Server[]
  readonly #key: string
  readonly #random: Random
  readonly #hasWorkers: boolean
  readonly #remove: () => Promise<void>
  /** Resolves when the server is up. */
  readonly #up: Promise<void>[]
  readonly #isDown: boolean[]
  #offsetMs = 0
  kills = 0

  constructor(
    servers: Server[],
    key: string,
    random: Random,
    { hasWorkers = false, remove = async () => {} }: { hasWorkers?: boolean; remove?: () => Promise<void> } = {},
  ) {
    this.servers = servers
    this.#key = key
    this.#random = random
    this.#hasWorkers = hasWorkers
    this.#remove = remove
    this.#up = servers.map(() => Promise.resolve())
    this.#isDown = servers.map(() => false)
  }

  /** A process that is up, as far as anybody knows. */
  async api(): Promise<Api> {
    const up = this.servers.filter((_, i) => !this.#isDown[i])
    if (up.length === 0) await Promise.race(this.#up)
    return this.#random.pick(up.length === 0 ? this.servers : up).as(this.#key).once
  }

  /** The time of the processes. */
  now(): number {
    return Date.now() + this.#offsetMs
  }

  moveClock(ms: number): void {
    for (const server of this.servers) server.setClock(this.#offsetMs + ms)
    this.#offsetMs += ms
  }

  /** Kills a process at random, and starts it again. */
  async killOne(): Promise<void> {
    this.kills++
    const at = this.#random.int(0, this.servers.length - 1)
    const server = this.servers[at]!
    if (this.#hasWorkers && this.#random.chance(0.5)) {
      // Its owner starts another.
      const victim = this.#random.pick(workersOf(server.pid))
      process.kill(victim, 'SIGKILL')
      await eventually('two workers, none of them the dead one', () => {
        const workers = workersOf(server.pid)
        return workers.length === 2 && !workers.includes(victim) ? true : undefined
      })
      return
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#up[at] = promise
    this.#isDown[at] = true
    const workers = this.#hasWorkers ? workersOf(server.pid) : []
    await server.kill()
    await eventually('its workers end', () => (workers.some(isAlive) ? undefined : true))
    await server.start()
    this.#isDown[at] = false
    resolve()
  }

  async remove(): Promise<void> {
    for (const server of this.servers) await server.stop()
    await this.#remove()
  }
}

export const oneProcess = async (random: Random): Promise<Stage> => {
  const server = await startServer({ clock: true })
  return new Stage([server], (await server.createOrganization()).secretKey, random)
}

export const twoWorkers = async (random: Random): Promise<Stage> => {
  const server = await startServer({ clock: true, args: ['--workers', '2'] })
  return new Stage([server], (await server.createOrganization()).secretKey, random, { hasWorkers: true })
}

export const twoProcesses = async (postgres: SharedPostgres, random: Random): Promise<Stage> => {
  const dir = makeTempDir()
  const store = await postgres.createDatabase()
  const { secretKey } = await runCubbyJson(dir, ['orgs', 'create', 'shared'], { store })
  const servers = await Promise.all([0, 1].map(() => startServer({ clock: true, store, files: join(dir, 'files') })))
  return new Stage(servers, secretKey, random, {
    remove: async () => {
      removeTempDir(dir)
      await postgres.drop(store)
    },
  })
}
