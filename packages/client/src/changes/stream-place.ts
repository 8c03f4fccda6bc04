const streamsMax = 3
let streams = 0

/**
 * A browser has six connections for a host over HTTP/1.1, and a page cannot tell whether it has HTTP/2. All browsers call themselves
 * so, in pages and in workers, and no other runtime does.
 */
const isBrowser = (): boolean => /^Mozilla\//.test(globalThis.navigator?.userAgent ?? '')

/** The right to hold a connection open. Three have it at once in a browser, and everybody elsewhere. */
export class StreamPlace {
  #isTaken = false

  take(): boolean {
    if (!this.#isTaken && !(isBrowser() && streams >= streamsMax)) {
      this.#isTaken = true
      streams++
    }
    return this.#isTaken
  }

  leave(): void {
    if (this.#isTaken) streams--
    this.#isTaken = false
  }
}
