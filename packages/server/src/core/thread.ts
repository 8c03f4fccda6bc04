const endMsMax = 2_000

/** The thread says that it cannot do what `open` asked for. */
export class ThreadRefused extends Error {}

interface ThreadEvents<From> {
  /** Every message but those that this file handles. */
  message(message: From): void
  /**
   * It is called at most once, and not after `end` or `terminate`: the thread failed or ended by itself. It is gone then.
   */
  lost(cause: string): void
}

/** Messages of a thread to the one who started it, beside its own. */
export type FromThread = { opened: true } | { refused: string } | { closed: true }

/**
 * The side of a thread in the thread that started it: start, answers to `open`, failure and end are handled here. Starting
 * another one after a failure is left to the caller: a writer is needed at once, others later or never.
 *
 * The script answers `open` with `opened` or `refused`, and `{ close: true }` with `closed`.
 */
export class Thread<To extends object, From extends object> {
  readonly #worker: Worker
  readonly #events: ThreadEvents<Exclude<From, FromThread>>
  #opening: { resolve(): void; reject(error: Error): void } | undefined
  #ended: (() => void) | undefined
  #ending: Promise<void> | undefined
  #isOver = false

  /** `script`: its URL. */
  constructor(script: string, events: ThreadEvents<Exclude<From, FromThread>>) {
    this.#events = events
    this.#worker = new Worker(script)
    this.#worker.onmessage = ({ data }: MessageEvent<From>) => this.#receive(data)
    this.#worker.onerror = ({ message }: ErrorEvent) => this.#lose(message)
    this.#worker.addEventListener('close', () => this.#lose('it has ended'))
  }

  post(message: To): void {
    this.#worker.postMessage(message)
  }

  /** Sends the message and waits for its answer. Rejects with ThreadRefused, or with another error if the thread is lost. */
  open(message: To): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#opening = { resolve, reject }
      this.post(message)
    })
  }

  /**
   * Asks the thread to close what it has open, then ends it; one that does not answer in time is ended anyway.
   * `message` tells it more. Only the first call asks; a later one waits for the same end.
   */
  end(message: object = {}): Promise<void> {
    this.#ending ??= new Promise((resolve) => {
      if (this.#isOver) return resolve()
      const timer = setTimeout(() => this.terminate(), endMsMax)
      this.#ended = () => {
        clearTimeout(timer)
        resolve()
      }
      this.#worker.postMessage({ close: true, ...message })
    })
    return this.#ending
  }

  terminate(): void {
    this.#isOver = true
    this.#worker.terminate()
    this.#ended?.()
  }

  #receive(message: From): void {
    if (this.#isOver) return
    if ('opened' in message) this.#opening?.resolve()
    else if ('refused' in message) this.#opening?.reject(new ThreadRefused(message.refused as string))
    else if ('closed' in message) this.terminate()
    else this.#events.message(message as Exclude<From, FromThread>)
  }

  #lose(cause: string): void {
    if (this.#isOver) return
    const isEnding = this.#ended !== undefined
    this.terminate()
    this.#opening?.reject(new Error(cause))
    if (!isEnding) this.#events.lost(cause)
  }
}
