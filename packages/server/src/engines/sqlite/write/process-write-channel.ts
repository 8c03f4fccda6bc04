import { CubbyError } from '../../../core/errors.ts'
import type { WorkerChannel } from '../../../store/engine.ts'
import type { LogHead } from '../changes/change-log.ts'
import type { Damage } from '../disk/damage.ts'
import { leaseMarginMs, registryLeaseMs } from '../registry/registry-cache.ts'
import {
  type Command,
  type CommandKind,
  type CommandOf,
  type CommandResult,
  decodeGroup,
  encodeGroup,
  makesCachesStale,
  type Outcome,
} from './command.ts'
import type { WriteChannel } from './write-channel.ts'

// Several processes serve one store: the owner has the writer, and the workers send it their commands. All commands that have
// arrived when a commit ends, from any worker, share the next commit.

/** A message from a worker: commands, encoded as for the writer thread, each with its number and size. */
export interface WorkerCommands {
  group: string
  numbers: number[]
  bytes: number[]
  /** See `submit`. */
  runs: number[]
  /** Damage that a read of the worker has found. */
  damage?: string
}

/** A message to a worker: outcomes by number. */
export interface WorkerOutcomes {
  outcomes: [number, Outcome][]
  /** Damage that any process has found in the store. */
  damage?: string
  /** True if the owner accepts writes, when that has changed or the worker asks. */
  ready?: boolean
  /** The logs of tables that a commit of any process has added to. */
  grown?: LogHead[]
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

/** The worker's end of the channel. */
export class ProcessWriteChannel implements WriteChannel {
  readonly #channel: WorkerChannel<WorkerCommands, WorkerOutcomes>
  readonly #pending = new Map<number, Pending>()
  #next = 1
  #waiting: WorkerCommands & { commands: Command[] } = emptyGroup()
  #closed = false
  #ownerIsReady = true
  readonly #readyListeners: ((ready: boolean) => void)[] = []
  #onGrown: (heads: LogHead[]) => void = () => {}
  onCommit: (commands: Command[]) => void = () => {}
  onDamage: (cause: string) => void = () => {}

  constructor(channel: WorkerChannel<WorkerCommands, WorkerOutcomes>, damage: Damage) {
    this.#channel = channel
    channel.onMessage(({ outcomes, damage: cause, ready, grown }) => {
      if (cause !== undefined) damage.noteFromElsewhere(cause)
      if (ready !== undefined) this.#noteOwner(ready)
      this.#settle(outcomes)
      if (grown !== undefined) this.#onGrown(grown)
    })
    damage.onFirst((cause) => channel.send({ ...noCommands, damage: cause }))
    // Asks for the damage found before this worker started, and whether the owner accepts writes.
    channel.send(noCommands)
    channel.onClose(() => {
      this.#closed = true
      for (const { reject } of this.#pending.values()) reject(unknownOutcome())
      this.#pending.clear()
    })
  }

  get ready(): boolean {
    return !this.#closed && this.#ownerIsReady
  }

  onReadyChange(listener: (ready: boolean) => void): void {
    this.#readyListeners.push(listener)
  }

  onGrown(listener: (heads: LogHead[]) => void): void {
    this.#onGrown = listener
  }

  #noteOwner(ready: boolean): void {
    if (ready === this.#ownerIsReady) return
    this.#ownerIsReady = ready
    for (const listener of this.#readyListeners) listener(ready)
  }

  submit<K extends CommandKind>(command: CommandOf<K>, bytes = 0, runs = 0): Promise<CommandResult<K>> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw new CubbyError('unavailable', 'The server is stopping; nothing was applied.')
      const waiting = this.#waiting
      if (waiting.numbers.length === 0) setImmediate(() => this.#send())
      const number = this.#next++
      waiting.commands.push(command as Command)
      waiting.numbers.push(number)
      waiting.bytes.push(bytes)
      waiting.runs.push(runs)
      this.#pending.set(number, { command: command as Command, resolve: resolve as (value: unknown) => void, reject })
    })
  }

  #send(): void {
    const { commands, numbers, bytes, runs } = this.#waiting
    this.#waiting = emptyGroup()
    if (!this.#closed) this.#channel.send({ group: encodeGroup(commands), numbers, bytes, runs })
  }

  #settle(outcomes: [number, Outcome][]): void {
    const settled = outcomes.map(([number, outcome]) => ({ waiting: this.#pending.get(number), number, outcome }))
    try {
      this.onCommit(settled.flatMap(({ waiting }) => (waiting === undefined ? [] : [waiting.command])))
    } catch {
      // Requests of a commit are answered even if the callback throws. A read that cannot be served reports that itself.
    }
    for (const { waiting, number, outcome } of settled) {
      this.#pending.delete(number)
      if ('value' in outcome) waiting?.resolve(outcome.value)
      else {
        const { code, message, field, hint } = outcome.failure
        waiting?.reject(new CubbyError(code, message, { field, hint }))
      }
    }
  }

  async close(): Promise<void> {
    this.#closed = true
  }
}

const noCommands: WorkerCommands = { group: encodeGroup([]), numbers: [], bytes: [], runs: [] }

const emptyGroup = (): WorkerCommands & { commands: Command[] } => ({
  commands: [],
  group: '',
  numbers: [],
  bytes: [],
  runs: [],
})

interface OwnersView {
  damage: Damage
  /** The reason for which no write is accepted now; undefined if writes are. */
  refusal(): CubbyError | undefined
}

/** The owner's end of the channel to one worker. */
export const serveWorker = (
  port: WriteChannel,
  channel: WorkerChannel<WorkerOutcomes, WorkerCommands>,
  { damage, refusal }: OwnersView,
): void => {
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
  const fail = (number: number, { code, message, field, hint, cause }: CubbyError): void =>
    answer(number, { failure: { code, message, field, hint, cause: cause as string } })
  damage.onFirst((cause) => channel.send({ outcomes: [], damage: cause }))
  port.onGrown((grown) => channel.send({ outcomes: [], grown }))
  port.onReadyChange((ready) => channel.send({ outcomes: [], ready }))
  channel.onMessage(({ group, numbers, bytes, runs, damage: met }) => {
    if (met !== undefined) damage.noteFromElsewhere(met)
    else if (numbers.length === 0) channel.send({ outcomes: [], damage: damage.cause, ready: port.ready })
    const commands = decodeGroup(group)
    const refused = refusal()
    for (let i = 0; i < commands.length; i++) {
      const number = numbers[i]!
      if (refused !== undefined) {
        fail(number, refused)
        continue
      }
      port.submit(commands[i]!, bytes[i]!, runs[i]!).then(
        async (value) => {
          // The other workers use what they have cached until their lease ends.
          if (makesCachesStale(commands[i]!)) await Bun.sleep(registryLeaseMs + leaseMarginMs)
          answer(number, { value })
        },
        (error: CubbyError) => fail(number, error),
      )
    }
  })
}
