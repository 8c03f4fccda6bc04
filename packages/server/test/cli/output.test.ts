import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import {
  cubbyCommand,
  makeTempDir,
  removeTempDir,
  type Server,
  startServer,
  storeArguments,
  storeIsEmbedded,
} from '../harness.ts'

// Output that is lost must not look like a success, and a command must end: a nightly backup into a full disk too.

setDefaultTimeout(120_000)

let server: Server
beforeAll(async () => {
  server = await startServer()
  await server.createOrganization('acme')
})
afterAll(() => server?.stop())

const calls: [string, () => string[]][] = [
  ['a table for people', () => ['orgs', 'list', ...storeArguments(server.dataDir)]],
  ['one line', () => ['verify', ...storeArguments(server.dataDir)]],
  ['help', () => ['--help']],
  ['the version', () => ['--version']],
]

const ended = async (args: string[], shell: string): Promise<unknown> => {
  const child = Bun.spawn(['bash', '-c', shell, 'bash', ...cubbyCommand(), ...args], {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
    timeout: 30_000,
    killSignal: 'SIGKILL',
  })
  return { stderr: await new Response(child.stderr).text(), exitCode: await child.exited }
}

describe.skipIf(!existsSync('/dev/full'))('output that cannot be written: one line, exit 1', () => {
  test.each(calls)('%s', async (_, args) => {
    expect(await ended(args(), '"$@" >/dev/full')).toEqual({
      stderr: 'cubby: the output cannot be written: ENOSPC: no space left on device, write\n',
      exitCode: 1,
    })
  })

  test.skipIf(!storeIsEmbedded())('a backup', async () => {
    expect(await ended(['backup', 'create', '-', '--data', server.dataDir], '"$@" >/dev/full')).toEqual({
      stderr: 'cubby: ENOSPC: no space left on device, write\n',
      exitCode: 1,
    })
  })
})

test.each(calls)('output that nobody reads: one line, exit 1: %s', async (_, args) => {
  expect(await ended(args(), 'exec 3> >(true); wait $!; "$@" >&3')).toEqual({
    stderr: 'cubby: the reader of the output has closed it before the end\n',
    exitCode: 1,
  })
})

test('a list is not read to its end for nobody', async () => {
  let pages = 0
  const endless = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => {
      pages++
      const file = { name: `n${pages}`, size: 1, visibility: 'private', updatedAt: 1 }
      return Response.json({ items: [file], count: 1, cursor: `c${pages}` })
    },
  })
  const key = `svc_live_${'a'.repeat(38)}`
  const args = ['files', 'list', 'photos', '--db', 'app', '--url', endless.url.origin, '--key', key]
  expect(await ended(args, 'exec 3> >(true); wait $!; "$@" >&3')).toEqual({
    stderr: 'cubby: the reader of the output has closed it before the end\n',
    exitCode: 1,
  })
  expect(pages).toBeLessThan(10)
  endless.stop(true)
})

test.skipIf(!existsSync('/dev/full'))(
  'a server that cannot print its keys says so at once, and stops as usual',
  async () => {
    const dataDir = makeTempDir()
    const serve = [...cubbyCommand(), 'serve', '--port', '0', ...storeArguments(dataDir)]
    const child = Bun.spawn(['bash', '-c', 'exec "$@" >/dev/full', 'bash', ...serve], {
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: 'pipe',
      timeout: 60_000,
      killSignal: 'SIGKILL',
    })
    let log = ''
    let stop = (): void => {
      stop = () => {}
      child.kill('SIGTERM')
    }
    const decoder = new TextDecoder()
    for await (const bytes of child.stderr) {
      log += decoder.decode(bytes, { stream: true })
      // A second signal would end it at once.
      if (log.includes('the output could not be written') && log.includes('listening')) stop()
    }
    expect(await child.exited).toBe(0)
    expect(log.split('the output could not be written')).toHaveLength(2)
    removeTempDir(dataDir)
  },
)

test('errors that cannot be written change nothing', async () => {
  expect(await ended(['nonsense'], '"$@" 2>/dev/full')).toEqual({ stderr: '', exitCode: 2 })
})
