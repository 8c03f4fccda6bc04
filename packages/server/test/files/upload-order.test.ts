import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { storeFileBytesMax } from '../../src/core/limits.ts'
import { mainFile } from '../cli/serve-process.ts'
import { parseTrace, whyNoTrace } from '../crash/trace.ts'
import { eventually, makeTempDir, removeTempDir, runCubbyJson, storeIsEmbedded } from '../harness.ts'
import { content } from './blob-fixture.ts'

// The order of its syncs decides what a power cut leaves of an upload. Without its row, bytes would stay for ever; without
// its bytes or their name, a record that was committed would refer to nothing.

setDefaultTimeout(120_000)

const untraced = storeIsEmbedded() ? whyNoTrace() : 'the store is not on a disk of ours'
const why = untraced === undefined ? '' : ` (skipped: ${untraced})`

interface Step {
  /** `row` of the WAL, `bytes` of the blob, `name` of the blob in its `directory`, `answer` to the request of an id. */
  what: string
  start: number
  end: number
}

describe.skipIf(untraced !== undefined)(`an upload to a server, seen with strace${why}`, () => {
  let dir: string
  let steps: Step[] = []
  /** The second of each kind: the first ones also make directories and the mark. */
  const uploads = {
    ...{ 'small-1': 20_000, 'small-2': 20_000, 'large-1': 20_000_000, 'large-2': 20_000_000 },
    ...{ 'stored-1': storeFileBytesMax, 'stored-2': storeFileBytesMax },
  }

  /** Small ones that come at the same time, at last. */
  const together = 24

  beforeAll(async () => {
    dir = makeTempDir()
    const [dataDir, place, file] = [join(dir, 'data'), join(dir, 'bytes'), join(dir, 'trace')]
    const { secretKey } = await runCubbyJson(dataDir, ['orgs', 'create', 'acme'])
    const calls = 'rename,renameat,renameat2,fsync,fdatasync,write,pwrite64,writev,pwritev,sendto,sendmsg'
    const serve = ['serve', '--data', dataDir, '--files', place, '--port', '0', '--no-bootstrap']
    const command = ['strace', '-f', '-y', '-s', '2000', '-o', file, '-e', `trace=${calls}`, process.execPath, mainFile]
    const strace = Bun.spawn([...command, ...serve], { stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' })
    try {
      let log = ''
      const pump = (async () => {
        for await (const chunk of strace.stderr) log += new TextDecoder().decode(chunk)
      })()
      const url = await eventually('the traced server to listen', () => /"url":"([^"]+)"/.exec(log)?.[1])
      const headers = { authorization: `Bearer ${secretKey}` }
      await fetch(`${url}/v1/app/_buckets/b`, { method: 'POST', headers })
      for (const [id, bytes] of Object.entries(uploads)) {
        const answer = await fetch(`${url}/v1/app/_buckets/b/${id}`, {
          ...{ method: 'PUT', headers: { ...headers, 'x-request-id': id }, body: content(bytes) },
        })
        expect([id, answer.status, ((await answer.json()) as { size: number }).size]).toEqual([id, 200, bytes])
      }
      await Promise.all(
        Array.from({ length: together }, async (_, n) => {
          const put = { method: 'PUT', headers: { ...headers, 'x-request-id': `together-${n}` }, body: content(20_000) }
          const answer = await fetch(`${url}/v1/app/_buckets/b/together-${n}`, put)
          expect([n, answer.status, ((await answer.json()) as { size: number }).size]).toEqual([n, 200, 20_000])
        }),
      )
      process.kill(Number.parseInt(readFileSync(file, 'utf8'), 10), 'SIGTERM')
      await strace.exited
      await pump
    } finally {
      strace.kill('SIGKILL')
    }
    steps = parseTrace(readFileSync(file, 'utf8'))
      .filter(({ text }) => /= \d+$/.test(text))
      .flatMap(({ name, text, start, end }) => {
        const step = (what: string): Step[] => [{ what, start, end }]
        const answered = /HTTP\/1\.1 200.*x-request-id: ([\w-]+)/i.exec(text)?.[1]
        if (answered !== undefined) return step(`answer ${answered}`)
        if (name.startsWith('rename')) return text.includes(`"${place}/`) ? step('name') : []
        const verb = name.endsWith('sync') ? 'sync ' : ''
        const path = /^\d+<([^>]*)>/.exec(text)?.[1] ?? ''
        if (path.endsWith('cubby.db-wal')) return step(`${verb}row`)
        if (!path.startsWith(place)) return []
        return step(verb + (/\/[0-9a-f]{32}(\.part)?$/.test(path) ? 'bytes' : 'directory'))
      })
      .sort((a, b) => a.start - b.start)
  })
  afterAll(() => removeTempDir(dir))

  test('bytes that the store keeps: they are in the WAL, it is synced, and only then the answer; no file is touched', () => {
    const answerAt = (id: string): number => steps.findIndex(({ what }) => what === `answer ${id}`)
    const own = steps.slice(answerAt('stored-1') + 1, answerAt('stored-2') + 1)
    const [written, synced] = [
      own.findLast(({ what }) => what === 'row'),
      own.findLast(({ what }) => what === 'sync row'),
    ]
    expect(synced!.start).toBeGreaterThan(written!.end)
    expect(own.at(-1)!.start).toBeGreaterThan(synced!.end)
    expect(own.at(-1)!.what).toBe('answer stored-2')
    // One commit, and nothing but it.
    expect(own.filter(({ what }) => what === 'sync row')).toHaveLength(1)
    expect(new Set(own.map(({ what }) => what))).toEqual(new Set(['row', 'sync row', 'answer stored-2']))
  })

  test('small ones that come together: the bytes of each are synced and get their name, and their directory is synced for many', () => {
    const own = steps.slice(steps.findIndex(({ what }) => what === 'answer stored-2') + 1)
    const count = (what: string): number => own.filter((step) => step.what === what).length
    expect([count('sync bytes'), count('name')]).toEqual([together, together])
    expect(count('sync directory')).toBeGreaterThan(0)
    expect(count('sync directory')).toBeLessThan(together)
    const answers = own.filter(({ what }) => what.startsWith('answer together'))
    expect(answers).toHaveLength(together)
    // No answer comes before the sync of a directory, and of the records, that follows the name.
    const names = own.filter(({ what }) => what === 'name')
    for (const [n, answer] of answers.entries()) {
      const named = names[n]!
      const listed = own.find(({ what, start }) => what === 'sync directory' && start > named.end)!
      const committed = own.find(({ what, start }) => what === 'sync row' && start > listed.end)!
      expect(answer.start).toBeGreaterThan(committed.end)
    }
  })

  test.each(['small', 'large'])('%s: the row, the bytes, their name, the record, and only then the answer', (kind) => {
    const answerAt = (id: string): number => steps.findIndex(({ what }) => what === `answer ${id}`)
    const [from, to] = [answerAt(`${kind}-1`), answerAt(`${kind}-2`)]
    expect([from, to]).not.toContain(-1)
    const own = steps.slice(from + 1, to + 1)
    const first = (what: string, after = -1) => own.find((step) => step.what === what && step.start > after)
    const last = (what: string) => own.findLast((step) => step.what === what)
    const [name, lastBytes] = [first('name')!, last('bytes')!]
    const order = [
      ['a row', first('row')],
      ['is synced', first('sync row', first('row')?.end)],
      ['before the first byte', first('bytes')],
      ['and the last one', lastBytes],
      ['all are synced', first('sync bytes', lastBytes.end)],
      ['and get their name', name],
      ['which is synced', first('sync directory', name.end)],
      ['before the record is written', last('row')],
      ['and synced', last('sync row')],
      ['and then the answer is sent', own.at(-1)],
    ] as const
    for (const [i, [what, step]] of order.entries()) {
      expect([what, step !== undefined]).toEqual([what, true])
      const [, before] = order[i - 1] ?? []
      if (before !== undefined && before !== step) expect([what, step!.start > before.end]).toEqual([what, true])
    }
  })
})
