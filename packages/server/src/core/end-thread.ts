const endMsMax = 2_000

/**
 * Asks the thread to close its connection, then ends it; one that does not answer within `msMax` is ended anyway. `message`
 * tells it more.
 */
export const endThread = (thread: Worker, message: object = {}, msMax = endMsMax): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      thread.terminate()
      resolve()
    }
    const timer = setTimeout(end, msMax)
    thread.onmessage = (event: MessageEvent<object>) => {
      if ('closed' in event.data) end()
    }
    thread.onerror = end
    thread.postMessage({ close: true, ...message })
  })
