import { describe, expect, test } from 'bun:test'
import { Thread, ThreadRefused } from '../../src/core/thread.ts'

// A thread that fails unnoticed would leave everything that was sent to it without an answer.

type To = { open: string } | { say: string } | { leave: true } | { fail: string }
type From = { opened: true } | { refused: string } | { said: string } | { closed: true }

const script = `data:text/javascript,${encodeURIComponent(`
self.onmessage = ({ data }) => {
  if ('open' in data) postMessage(data.open === 'no' ? { refused: 'not this one' } : { opened: true })
  else if ('say' in data) postMessage({ said: data.say })
  else if ('leave' in data) process.exit(0)
  else if ('fail' in data) throw new Error(data.fail)
  else if (data.late !== true) { postMessage({ said: 'last' }); postMessage({ closed: true }) }
}`)}`

const start = () => {
  const said: string[] = []
  const lost = Promise.withResolvers<string>()
  let losses = 0
  const thread = new Thread<To, From>(script, {
    message: (message) => void said.push(message.said),
    lost: (cause) => {
      losses++
      lost.resolve(cause)
    },
  })
  return { thread, said, lost: lost.promise, losses: () => losses }
}

describe('a thread', () => {
  test('answers open, and refuses with its reason', async () => {
    const { thread, losses } = start()
    await thread.open({ open: 'yes' })
    const refused = await thread.open({ open: 'no' }).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(ThreadRefused)
    expect((refused as Error).message).toBe('not this one')
    await thread.end()
    expect(losses()).toBe(0)
  })

  test('that is ended delivers what it said before it closed, and is not lost', async () => {
    const { thread, said, losses } = start()
    thread.post({ say: 'first' })
    await thread.end()
    await thread.end()
    expect(said).toEqual(['first', 'last'])
    await Bun.sleep(50)
    expect(losses()).toBe(0)
  })

  test('that is ended twice at once ends for both', async () => {
    const { thread, losses } = start()
    await thread.open({ open: 'yes' })
    const ends = Promise.all([thread.end(), thread.end()]).then(() => 'ended')
    expect(await Promise.race([ends, Bun.sleep(5_000).then(() => 'waits')])).toBe('ended')
    expect(losses()).toBe(0)
  }, 10_000)

  test('that does not answer is ended after a while', async () => {
    const { thread, losses } = start()
    await thread.open({ open: 'yes' })
    await thread.end({ late: true })
    expect(losses()).toBe(0)
  })

  test('that fails is lost once, with its error', async () => {
    const { thread, lost, losses } = start()
    await thread.open({ open: 'yes' })
    thread.post({ fail: 'no memory' })
    expect(await lost).toContain('no memory')
    await Bun.sleep(50)
    expect(losses()).toBe(1)
    await thread.end()
  })

  test('that ends by itself is lost, and what it was asked to open is rejected', async () => {
    const { thread, lost } = start()
    const opening = thread.open({ leave: true } as never)
    await expect(opening).rejects.toThrow('it has ended')
    expect(await lost).toBe('it has ended')
  })
})
