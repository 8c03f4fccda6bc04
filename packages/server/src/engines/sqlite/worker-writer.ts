import { CubbyError } from '../../core/errors.ts'
import { type Command, type CommandResults, decodeGroup, encodeGroup, type Outcome } from './command.ts'
import { registryLeaseMs } from './registry-cache.ts'
import type { WritePort } from './write-port.ts'
import { upkeepLine } from './write-queue.ts'

// Several serving processes on one store: one process keeps the writer, the others send it their commands. What
// has come from all of them when a commit ends shares the next.

/** From a worker: commands with their numbers, organizations and sizes, in the form that threads use too. */
export interface WorkerCommands {
  group: string
  numbers: number[]
  orgIds: number[]
  bytes: number[]
}

/** To a worker: outcomes by number. */
export interface WorkerOutcomes {
  outcomes: [number, Outcome][]
}

export interface Channel<Out, In> {
  send(message: Out): void
  onMessage(receive: (message: In) => void): void
  onClose(closed: () => void): void
}

interface Pending {
  command: Command
  resolve(value: unknown): void
  reject(error: unknown): void
}

const unknownOutcome = (): CubbyError =>
  new CubbyError('outcome_unknown', 'The writer went away; the write may or may not have been applied.', {
    hint: 'Read the record before repeating the request.',
  })

/** A worker's end: as if the writer were in this process. */
export class WorkerWriter implements WritePort {
  readonly #channel: Channel<WorkerCommands, WorkerOutcomes>
  readonly #pending = new Map<number, Pending>()
  #next = 1
  #waiting: WorkerCommands & { commands: Command[] } = emptyGroup()
  #closed = false
  onCommit: (commands: Command[]) => void = () => {}

  constructor(channel: Channel<WorkerCommands, WorkerOutcomes>) {
    this.#channel = channel
    channel.onMessage(({ outcomes }) => this.#settle(outcomes))
    channel.onClose(() => {
      this.#closed = true
      for (const { reject } of this.#pending.values()) reject(unknownOutcome())
      this.#pending.clear()
    })
  }

  get ready(): boolean {
    return !this.#closed
  }

  submit<K extends Command['kind']>(
    orgId: number,
    bytes: number,
    command: Extract<Command, { kind: K }>,
  ): Promise<CommandResults[K]> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw new CubbyError('unavailable', 'The server is stopping; nothing was applied.')
      const waiting = this.#waiting
      if (waiting.numbers.length === 0) setImmediate(() => this.#send())
      const number = this.#next++
      waiting.commands.push(command)
      waiting.numbers.push(number)
      waiting.orgIds.push(orgId)
      waiting.bytes.push(bytes)
      this.#pending.set(number, { command, resolve: resolve as (value: unknown) => void, reject })
    })
  }

  submitUpkeep<K extends Command['kind']>(command: Extract<Command, { kind: K }>): Promise<CommandResults[K]> {
    return this.submit(upkeepLine, 0, command)
  }

  #send(): void {
    const { commands, numbers, orgIds, bytes } = this.#waiting
    this.#waiting = emptyGroup()
    if (!this.#closed) this.#channel.send({ group: encodeGroup(commands), numbers, orgIds, bytes })
  }

  #settle(outcomes: [number, Outcome][]): void {
    const settled = outcomes.map(([number, outcome]) => ({ waiting: this.#pending.get(number), number, outcome }))
    this.onCommit(settled.flatMap(({ waiting }) => (waiting === undefined ? [] : [waiting.command])))
    for (const { waiting, number, outcome } of settled) {
      this.#pending.delete(number)
      if ('value' in outcome) waiting?.resolve(outcome.value)
      else
        waiting?.reject(new CubbyError(outcome.failure.code, outcome.failure.message, { hint: outcome.failure.hint }))
    }
  }

  async close(): Promise<void> {
    this.#closed = true
  }
}

const emptyGroup = (): WorkerCommands & { commands: Command[] } => ({
  commands: [],
  group: '',
  numbers: [],
  orgIds: [],
  bytes: [],
})

/** The writer's end for one worker. */
export const serveWorker = (port: WritePort, channel: Channel<WorkerOutcomes, WorkerCommands>): void => {
  let settled: [number, Outcome][] = []
  const answer = (number: number, outcome: Outcome): void => {
    if (settled.length === 0) {
      setImmediate(() => {
        channel.send({ outcomes: settled })
        settled = []
      })
    }
    settled.push([number, outcome])
  }
  channel.onMessage(({ group, numbers, orgIds, bytes }) => {
    const commands = decodeGroup(group)
    for (let i = 0; i < commands.length; i++) {
      const number = numbers[i]!
      port.submit<Command['kind']>(orgIds[i]!, bytes[i]!, commands[i]!).then(
        async (value) => {
          // The other workers believe what they have read until their lease is over.
          if (takesAway(commands[i]!)) await Bun.sleep(registryLeaseMs + leaseMarginMs)
          answer(number, { value })
        },
        (error: CubbyError) =>
          answer(number, {
            failure: { code: error.code, message: error.message, hint: error.hint, cause: error.cause as string },
          }),
      )
    }
  })
}

export const leaseMarginMs = 50

/** Whether what is cached of the registry may be wrong after it. */
export const takesAway = ({ kind }: Command): boolean => kind === 'deleteTable' || kind === 'revokeApiKey'
