// Server-sent events as https://html.spec.whatwg.org/multipage/server-sent-events.html reads them, and what is no event.

/** The lines up to an empty one. `event` is absent in an id alone, a comment and a `retry`. */
export interface Block {
  event?: string
  id?: string
  data?: string
  retry?: number
  isComment: boolean
}

const parseBlock = (text: string): Block => {
  const block: Block = { isComment: false }
  const data: string[] = []
  for (const line of text.split('\n')) {
    const [, name, value] = /^([^:]*): ?(.*)$/s.exec(line) ?? []
    if (name === '') block.isComment = true
    else if (name === 'data') data.push(value!)
    else if (name === 'retry') block.retry = Number(value)
    else if (name === 'event' || name === 'id') block[name] = value!
    else throw new Error(`no line of server-sent events: ${JSON.stringify(line)}`)
  }
  if (data.length > 0) block.data = data.join('\n')
  return block
}

/** Takes a text in any pieces, and gives the blocks that are whole. */
export class BlockParser {
  #rest = ''

  add(text: string): Block[] {
    const texts = (this.#rest + text).split('\n\n')
    this.#rest = texts.pop()!
    return texts.map(parseBlock)
  }
}

/** The blocks of a response, as they come. */
export async function* readBlocks(body: ReadableStream<Uint8Array>): AsyncGenerator<Block> {
  const decoder = new TextDecoder()
  const parser = new BlockParser()
  for await (const chunk of body) yield* parser.add(decoder.decode(chunk, { stream: true }))
}
