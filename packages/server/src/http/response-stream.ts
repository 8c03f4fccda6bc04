/** An answer that is produced while it is sent, with the callbacks that sending needs. */
export interface ResponseStream {
  readonly chunks: AsyncIterable<Uint8Array>
  /** Its length. A source with more or fewer bytes is cut off. */
  readonly bytes: number
  /** Resolves when the next chunk may be produced. */
  turn(): Promise<void>
  /** Called for each chunk before any byte of it is sent. If it throws, the answer is cut off there. */
  check?(chunk: Uint8Array): void
  /** The chunk is being produced, and the client waits for us. */
  onWaiting(): void
  /** A piece of this length was passed to the socket, and we wait for the client. */
  onSending(bytes: number): void
  /** Called once, whether the answer was sent, failed, was cut or was cancelled by the end of its connection. */
  onEnd(isCancelled: boolean): void
  /** The source failed: the client sees its connection break. */
  onFault(error: unknown): void
}

const noBytes: Uint8Array = new Uint8Array()

export interface SentChunks {
  readonly stream: ReadableStream<Uint8Array>
  /** Ends the answer early: the client sees its connection break. */
  cut(): void
}

/**
 * The stream for Bun, which requests a piece when the socket has accepted the previous one. `pieceBytesAt` gives the length of
 * the piece after so many bytes. `hold` is told how many bytes of the chunk the client has not taken yet; `release` is called
 * once, at the end.
 */
export const sendChunks = (
  answer: ResponseStream,
  pieceBytesAt: (sentBytes: number) => number,
  hold: (bytes: number) => void,
  release: () => void,
): SentChunks => {
  const source = answer.chunks[Symbol.asyncIterator]()
  let chunk = noBytes
  // The source reuses the chunk before: to allocate each one took a sixth of the time of a download. A slow reader keeps none.
  let used: WeakRef<Uint8Array> | undefined
  let at = 0
  let sentBytes = 0
  let isOver = false
  let controller: ReadableStreamDefaultController<Uint8Array>
  const end = (isCancelled = false): void => {
    isOver = true
    release()
    answer.onEnd(isCancelled)
  }
  /** False at the end of the source. */
  const nextChunk = async (): Promise<boolean> => {
    await answer.turn()
    const { value, done } = await source.next(used?.deref())
    if (done === true) {
      if (sentBytes !== answer.bytes) throw new Error(wrongLength(sentBytes, answer.bytes))
      return false
    }
    if (sentBytes + value.length > answer.bytes) {
      throw new Error(wrongLength(sentBytes + value.length, answer.bytes))
    }
    answer.check?.(value)
    chunk = value
    used = new WeakRef(value)
    at = 0
    return true
  }
  const pull = async (): Promise<void> => {
    try {
      answer.onWaiting()
      // An empty chunk is skipped: after one, Bun would not request the next.
      while (at === chunk.length) {
        if (await nextChunk()) continue
        if (isOver) return
        end()
        controller.close()
        return
      }
      if (isOver) return
      const piece = chunk.subarray(at, at + pieceBytesAt(sentBytes))
      hold(chunk.length - at)
      at += piece.length
      sentBytes += piece.length
      answer.onSending(piece.length)
      // Bun has its own copy of what the socket has not accepted, so nothing keeps the chunk.
      if (at === chunk.length) {
        chunk = noBytes
        at = 0
      }
      controller.enqueue(piece)
    } catch (error) {
      if (isOver) return
      end()
      answer.onFault(error)
      breakOff()
    }
  }
  const breakOff = (): void => {
    stopSource(source)
    // Bun resets the connection, so the client does not mistake a part for the whole. No error value: Bun may print it.
    controller.error(undefined)
  }
  const cancel = (): void => {
    if (isOver) return
    end(true)
    stopSource(source)
  }
  const cut = (): void => {
    if (isOver) return
    end()
    breakOff()
  }
  const start = (given: typeof controller): void => {
    controller = given
  }
  return { stream: new ReadableStream<Uint8Array>({ start, pull, cancel }, { highWaterMark: 0 }), cut }
}

/** Lets a source that is not read to its end close its resources. */
const stopSource = (source: AsyncIterator<Uint8Array>): void => {
  source.return?.().catch(() => {})
}

const wrongLength = (bytes: number, declaredBytes: number): string =>
  `the answer has ${bytes} bytes so far; ${declaredBytes} were declared`
