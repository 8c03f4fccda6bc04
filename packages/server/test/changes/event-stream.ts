export interface ServerEvent {
  /** Empty for an id that is no event. */
  event: string
  data: string
  id: string | undefined
}

/** The events of a stream, as https://html.spec.whatwg.org/multipage/server-sent-events.html reads them. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body) {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
    rest = blocks.pop()!
    for (const block of blocks) {
      const fields = block.split('\n').map((line): [string, string] => {
        const at = line.indexOf(': ')
        return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 2)]
      })
      const of = (name: string) => fields.filter(([field]) => field === name).map(([, value]) => value)
      const [id] = of('id')
      const event = of('event')[0] ?? ''
      if (event !== '' || id !== undefined) yield { event, data: of('data').join('\n'), id }
    }
  }
}
