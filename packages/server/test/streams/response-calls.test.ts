import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { whyNoTrace } from '../crash/trace.ts'
import { eventually, makeTempDir, removeTempDir, startServer } from '../harness.ts'

// Bun may send the head of an answer in forty system calls, which take nearly as long as a page of 50 records without them.

setDefaultTimeout(120_000)

const untraced = whyNoTrace()
const why = untraced === undefined ? '' : ` (skipped: ${untraced})`

describe.skipIf(untraced !== undefined)(`answers, seen with strace${why}`, () => {
  test('pages of all sizes are sent in few system calls, and arrive whole', async () => {
    const server = await startServer()
    const dir = makeTempDir()
    try {
      const api = server.as((await server.createOrganization()).secretKey)
      const text = `${'x'.repeat(400)}ü€😀`
      // Fewer of these units make as many bytes.
      const wide = '字'.repeat(140)
      for (const [table, words] of Object.entries({ notes: text, wide })) {
        await api.post(`/v1/app/${table}`)
        for (const half of ['k', 'l']) {
          const operations = Array.from({ length: 25 }, (_, n) => ({
            ...{ op: 'put', hashKey: `${half}${n}`, data: { text: words } },
          }))
          expect((await api.post(`/v1/app/${table}/batch`, { operations })).status).toBe(200)
        }
      }
      const pages = [1, 30, 34, 36, 50].flatMap((limit) => [
        { limit, table: 'notes', words: text },
        { limit, table: 'wide', words: wide },
      ])
      for (const { limit, table, words } of pages) {
        const file = join(dir, `trace-${table}-${limit}`)
        const sending = 'trace=sendto,sendmsg,write,writev'
        const strace = Bun.spawn(['strace', '-f', '-q', '-o', file, '-e', sending, '-p', String(server.pid)], {
          ...{ stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' },
        })
        await eventually('it is traced', () =>
          /TracerPid:\t[1-9]/.test(readFileSync(`/proc/${server.pid}/status`, 'utf8')) ? true : undefined,
        )
        // Several at once: they are answered outside of the events of their sockets.
        const times = 24
        const answers = await Promise.all(
          Array.from({ length: times }, () => api.post(`/v1/app/${table}/query`, { index: 't', limit })),
        )
        for (const { status, body } of answers) {
          expect(status).toBe(200)
          expect(body.items.map(({ data }: { data: { text: string } }) => data.text)).toEqual(Array(limit).fill(words))
        }
        strace.kill('SIGINT')
        await strace.exited
        const calls = readFileSync(file, 'utf8')
          .split('\n')
          .filter((line) => /^\d+ +(send|write)/.test(line)).length
        expect([table, limit, calls >= times, calls < 8 * times]).toEqual([table, limit, true, true])
      }
    } finally {
      await server.stop()
      removeTempDir(dir)
    }
  })
})
