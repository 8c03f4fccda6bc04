/** An answer that is made while it is sent, and what sending it needs. */
export interface AnswerStream {
  readonly chunks: AsyncIterable<Uint8Array>
  /** Its length, where it is known: a source that has more or less is cut off. */
  readonly bytes: number | undefined
  /** Resolves when the next chunk may be made. */
  turn(): Promise<void>
  /** The chunk is being made, and the client waits for us. */
  onWaiting(): void
  /** A piece was handed to the socket, and we wait for the client. */
  onSending(): void
  /** Once, however the answer ended. */
  onEnd(): void
  /** The source failed: the client sees its connection break. */
  onFault(error: unknown): void
}

/**
 * The stream for Bun, which asks for a piece when the socket has taken the one before. `hold` is told the length of each
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
      // An empty chunk would end nothing and send nothing: Bun would not ask again.
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
      // Bun resets the connection, so that the client cannot take a part for the whole. Without a value: Bun may print one.
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

/** A source that is not read to its end closes what it has open. */
const stopSource = (source: AsyncIterator<Uint8Array>): void => {
  source.return?.().catch(() => {})
}

/** For an answer to HEAD: the source is not started. */
export const discardChunks = (chunks: AsyncIterable<Uint8Array>): void => stopSource(chunks[Symbol.asyncIterator]())

const wrongLength = (bytes: number, declaredBytes: number): string =>
  `the answer has ${bytes} bytes so far; ${declaredBytes} were declared`
