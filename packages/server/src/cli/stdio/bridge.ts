import { maskApiKeys } from '../../core/api-keys/mask-api-keys.ts'
import { printNote } from '../print.ts'
import type { Remote } from '../target/remote.ts'
import { headersOf, isJson, readStdioMessage, type StdioMessage } from './message.ts'
import type { MessageLine } from './read-messages.ts'
import { agreedVersion, answerLine, noResponseLine, notJsonLine, unreadableLine } from './response.ts'

/** Nothing more is read while so many messages are in flight, or so many bytes of them. */
const messagesInFlightMax = 64
const bytesInFlightMax = 32 * 1024 * 1024

/** A tool waits for a shorter time. */
const responseMsMax = 90_000

interface BridgeOptions {
  remote: Remote
  /** The path of the endpoint, with its parameters. */
  path: string
  write(line: string): Promise<void>
  /** Ends the lines that `run` reads. */
  stopInput(): void
}

/** Passes messages of a client on to the server, several at once, and writes each answer when it comes. */
export class StdioBridge {
  readonly #remote: Remote
  readonly #path: string
  readonly #write: BridgeOptions['write']
  readonly #stopInput: BridgeOptions['stopInput']
  readonly #inFlight = new Set<Promise<void>>()
  /** Requests that can be cancelled, by id. */
  readonly #requests = new Map<string, AbortController>()
  #bytes = 0
  /** The revision that `initialize` has agreed on. Only messages of the older revisions need it. */
  #agreed: string | undefined
  #failure: unknown

  constructor({ remote, path, write, stopInput }: BridgeOptions) {
    this.#remote = remote
    this.#path = path
    this.#write = write
    this.#stopInput = stopInput
  }

  /** Resolves at the end of the input, when all is answered. Throws if nobody reads the output any more. */
  async run(lines: AsyncIterable<MessageLine>): Promise<void> {
    try {
      for await (const line of lines) {
        const work = this.#pass(line).catch((error) => this.#fail(error))
        this.#inFlight.add(work)
        work.finally(() => this.#inFlight.delete(work))
        while (this.#inFlight.size >= messagesInFlightMax || this.#bytes >= bytesInFlightMax) {
          await Promise.race(this.#inFlight)
        }
      }
    } catch (error) {
      this.#fail(error)
    }
    await Promise.all(this.#inFlight)
    if (this.#failure !== undefined) throw this.#failure
  }

  #fail(error: unknown): void {
    if (this.#failure !== undefined) return
    this.#failure = error
    this.#stopInput()
    for (const request of this.#requests.values()) request.abort()
  }

  async #pass(line: MessageLine): Promise<void> {
    if ('fault' in line) return this.#write(unreadableLine(line.fault))
    const { text } = line
    if (text.trim() === '') return
    if (!isJson(text)) return this.#write(notJsonLine())
    const message = readStdioMessage(text)
    // A request over HTTP is cancelled by its connection, so that the server does not get this message.
    if (message.cancels !== undefined) this.#requests.get(message.cancels)?.abort()
    else await this.#forward(message, text)
  }

  async #forward(message: StdioMessage, text: string): Promise<void> {
    const { id, method } = message
    const cancelled = new AbortController()
    if (id !== undefined) this.#requests.set(id, cancelled)
    this.#bytes += text.length
    try {
      const answer = await this.#exchange(message, text, cancelled.signal)
      if (answer === undefined || cancelled.signal.aborted) return
      if (method === 'initialize') this.#agreed = agreedVersion(answer) ?? this.#agreed
      await this.#write(answer)
    } finally {
      this.#bytes -= text.length
      if (id !== undefined && this.#requests.get(id) === cancelled) this.#requests.delete(id)
    }
  }

  async #exchange(message: StdioMessage, body: string, cancelled: AbortSignal): Promise<string | undefined> {
    const { id, method, isNotification } = message
    try {
      const { status, text } = await this.#remote.exchangeText({
        path: this.#path,
        headers: headersOf(message, this.#agreed),
        body,
        repeatable: method !== 'tools/call',
        signal: AbortSignal.any([cancelled, AbortSignal.timeout(responseMsMax)]),
      })
      const line = answerLine(this.#remote.url, id, status, text)
      return isNotification ? undefined : line
    } catch (error) {
      if (cancelled.aborted) return undefined
      const reason = maskApiKeys((error as Error).message)
      if (!isNotification) return noResponseLine(id, reason)
      printNote(`cubby: ${reason}`)
      return undefined
    }
  }
}
