/** An event of a stream. One without data has no type; it says only where the stream is. */
export interface StreamEvent {
  type: string
  data: string
  /** Undefined if the event itself has none. */
  id: string | undefined
}

const lineFeed = 0x0a
const carriageReturn = 0x0d
/** Minified, the escape would be a line break within a string, and the build breaks lines itself. */
const lineEnd = String.fromCharCode(lineFeed)
/** Several times the largest record. */
const eventUnitsMax = 8 * 1024 * 1024

/** Reads the text of a stream of events, as the HTML standard defines it. The text may be cut anywhere. */
export class EventParser {
  /** The pause that the server has asked for last. */
  retryMs: number | undefined
  /** The start of a line whose end has not arrived. */
  #line = ''
  #isAfterReturn = false
  #type = ''
  #data: string[] = []
  #dataUnits = 0
  #id: string | undefined;

  /** The events that end in this text. Of one that does not end, nothing counts. */
  *add(text: string): Generator<StreamEvent, void> {
    if (text === '') return
    // The other half of a line end that was cut.
    const start = this.#isAfterReturn && text.charCodeAt(0) === lineFeed ? 1 : 0
    this.#isAfterReturn = text.charCodeAt(text.length - 1) === carriageReturn
    const lines = text.slice(start).split(/\r\n|\r|\n/)
    lines[0] = this.#line + lines[0]
    this.#line = lines.pop()!
    for (const line of lines) {
      if (line !== '') this.#read(line)
      else {
        const event = this.#take()
        if (event) yield event
      }
    }
    if (this.#line.length + this.#dataUnits > eventUnitsMax) throw new Error('An event of the stream is too long.')
  }

  #read(line: string): void {
    const colon = line.indexOf(':')
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (name === 'event') this.#type = value
    if (name === 'id' && !/\0/.test(value)) this.#id = value
    if (name === 'retry' && /^\d+$/.test(value)) this.retryMs = Number(value)
    if (name === 'data') {
      this.#data.push(value)
      this.#dataUnits += value.length + 1
    }
  }

  #take(): StreamEvent | undefined {
    const isEmpty = this.#data.length === 0
    const event = { type: isEmpty ? '' : this.#type || 'message', data: this.#data.join(lineEnd), id: this.#id }
    this.#type = ''
    this.#data = []
    this.#dataUnits = 0
    this.#id = undefined
    return isEmpty && event.id === undefined ? undefined : event
  }
}
