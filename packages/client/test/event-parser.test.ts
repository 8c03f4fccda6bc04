import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { EventParser, type StreamEvent } from '../src/changes/event-parser.ts'

const read = (chunks: string[]): { events: StreamEvent[]; retryMs: number | undefined } => {
  const parser = new EventParser()
  const events = chunks.flatMap((chunk) => [...parser.add(chunk)])
  return { events, retryMs: parser.retryMs }
}

const stream = `: hello
retry: 1500

event: put
id: c1
data: {"a":
data:  1}

:comment
id: c2

data
data:no space
other: x
event:

event: lost
event: kept
data: 5
id

id: with\0nul
data: 6

event: delete
id: never
data: cut`

const events: StreamEvent[] = [
  { type: 'put', data: '{"a":\n 1}', id: 'c1' },
  { type: '', data: '', id: 'c2' },
  { type: 'message', data: '\nno space', id: undefined },
  { type: 'kept', data: '5', id: '' },
  { type: 'message', data: '6', id: undefined },
]

test.each([
  ['line feeds', '\n'],
  ['carriage returns', '\r'],
  ['both', '\r\n'],
])('events are read alike with %s as line ends, wherever the text is cut', (_, end) => {
  const text = stream.replaceAll('\n', end)
  expect(read([text])).toEqual({ events, retryMs: 1500 })
  expect(read(text.split(''))).toEqual({ events, retryMs: 1500 })
  for (let i = 0; i <= text.length; i++) {
    expect(read([text.slice(0, i), '', text.slice(i)])).toEqual({ events, retryMs: 1500 })
  }
})

test('what the server writes is read as it was, cut into any chunks', () => {
  const item = fc.record({
    type: fc.constantFrom('put', 'delete'),
    data: fc.string({ unit: 'grapheme' }),
    id: fc.uuid(),
  })
  fc.assert(
    fc.property(fc.array(item), fc.array(fc.nat(9), { minLength: 1 }), (items, lengths) => {
      const written = items.map(({ type, data, id }) => ({ type, data: data.replace(/\r\n|\r|\n/g, '\n'), id }))
      let text = items
        .map(({ type, data, id }) => {
          const lines = data.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`)
          return `event: ${type}\nid: ${id}\n${lines.join('')}\n`
        })
        .join('')
      const chunks: string[] = []
      for (let i = 0; text !== ''; i++) {
        const length = 1 + lengths[i % lengths.length]!
        chunks.push(text.slice(0, length))
        text = text.slice(length)
      }
      expect(read(chunks).events).toEqual(written)
    }),
  )
})

test('an event that never ends is refused, and not kept', () => {
  for (const piece of ['x'.repeat(100_000), `data: ${'x'.repeat(100_000)}\n`]) {
    let taken = 0
    expect(() => {
      const parser = new EventParser()
      for (; taken < 1_000; taken++) [...parser.add(piece)]
    }).toThrow('too long')
    expect(taken).toBeGreaterThan(20)
  }
})
