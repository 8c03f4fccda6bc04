/** An answer that is produced while it is sent, with the callbacks that sending needs. */
export interface AnswerStream {
  readonly chunks: AsyncIterable<Uint8Array>
  /** Its length, if it is known. A source with more or fewer bytes is cut off. */
  readonly bytes: number | undefined
  /** Resolves when the next chunk may be produced. */
  turn(): Promise<void>
  /** The chunk is being produced, and the client waits for us. */
  onWaiting(): void
  /** A piece was passed to the socket, and we wait for the client. */
  onSending(): void
  /** Called once, whether the answer was sent, failed or was cancelled. */
  onEnd(): void
  /** The source failed: the client sees its connection break. */
  onFault(error: unknown): void
}

/**
 * The stream for Bun, which requests a piece when the socket has accepted the previous one. `hold` gets the length of each
 * chunk; `release` is called once, at the end.
 */
export const sendChunks = (
  answer: AnswerStream,
  pieceBytes: number,
  hold: (bytes: number) => void,
  release: () => void,
): ReadableStream<Uint8Array> => {
  const source = answer.chunks[Symbol.asyncIterator]()
  let chunk: Uint8Array = new Uint8Array()
  let at = 0
  let sentBytes = 0
  let isOver = false
  const end = (): void => {
    isOver = true
    release()
    answer.onEnd()
  }
  /** False at the end of the source. */
  const nextChunk = async (): Promise<boolean> => {
    await answer.turn()
    const { value, done } = await source.next()
    if (done === true) {
      if (answer.bytes !== undefined && sentBytes !== answer.bytes)
        throw new Error(wrongLength(sentBytes, answer.bytes))
      return false
    }
    if (answer.bytes !== undefined && sentBytes + value.length > answer.bytes) {
      throw new Error(wrongLength(sentBytes + value.length, answer.bytes))
    }
    if (!isOver) hold(value.length)
    chunk = value
    at = 0
    return true
  }
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
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
      const piece = chunk.subarray(at, at + pieceBytes)
      at += piece.length
      sentBytes += piece.length
      answer.onSending()
      controller.enqueue(piece)
    } catch (error) {
      if (isOver) return
      end()
      answer.onFault(error)
      stopSource(source)
      // Bun resets the connection, so the client does not mistake a part for the whole. No error value: Bun may print it.
      controller.error(undefined)
    }
  }
  const cancel = (): void => {
    if (isOver) return
    end()
    stopSource(source)
  }
  return new ReadableStream<Uint8Array>({ pull, cancel }, { highWaterMark: 0 })
}

/** Lets a source that is not read to its end close its resources. */
const stopSource = (source: AsyncIterator<Uint8Array>): void => {
  source.return?.().catch(() => {})
}

/** For an answer to HEAD: the source is not started. */
export const discardChunks = (chunks: AsyncIterable<Uint8Array>): void => stopSource(chunks[Symbol.asyncIterator]())

const wrongLength = (bytes: number, declaredBytes: number): string =>
  `the answer has ${bytes} bytes so far; ${declaredBytes} were declared`
