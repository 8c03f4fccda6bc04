// The format of server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html

const retryMsMin = 1_000
const retryMsMax = 5_000

/** How long a reader waits before it comes again. Drawn for each stream: those of a server that has stopped come one by one. */
export const retryText = (): string =>
  `retry: ${retryMsMin + Math.floor(Math.random() * (retryMsMax - retryMsMin + 1))}\n\n`

/** A reader takes no notice of it. */
export const commentText = ':\n\n'

/** An id alone is no event, but a reader goes on from it. */
export const idText = (id: string): string => `id: ${id}\n\n`

/** A line of data ends where its text has a line end of any kind. */
export const eventText = (event: string, data: string, id?: string): string =>
  `event: ${event}\ndata: ${data.replaceAll(/\r\n|\r|\n/g, '\ndata: ')}\n${id === undefined ? '' : `id: ${id}\n`}\n`
