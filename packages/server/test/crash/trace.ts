import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually, mainFile, makeTempDir, removeTempDir, runCubbyJson } from '../harness.ts'

// The server under strace: which call came when, over all of its threads.

const reading = ['read', 'readv', 'recvfrom', 'recvmsg']
const sending = ['write', 'writev', 'sendto', 'sendmsg']
const writing = ['pwrite64', 'pwritev', 'write', 'writev']
const syncing = ['fsync', 'fdatasync']
const calls = [...new Set([...reading, ...sending, ...writing, ...syncing])]

/** Says why a trace cannot be made here; undefined if it can. */
export const whyNoTrace = (): string | undefined => {
  if (Bun.which('strace') === null) return 'strace is not installed'
  const { exitCode } = Bun.spawnSync(['strace', '-f', '-o', '/dev/null', 'true'], {
    stdout: 'ignore',
    stderr: 'ignore',
  })
  return exitCode === 0 ? undefined : 'this machine does not let strace trace'
}

interface Call {
  name: string
  /** Arguments and result, as strace prints them. */
  text: string
  /** Lines of the trace: when it was made and when it returned. */
  start: number
  end: number
}

/** strace prints a call as two lines if a call of another thread comes between its start and end. */
export const parseTrace = (text: string): Call[] => {
  const done: Call[] = []
  const open = new Map<string, Call>()
  for (const [at, line] of text.split('\n').entries()) {
    const resumed = /^(\d+)\s+<\.\.\. (\w+) resumed>(.*)$/.exec(line)
    if (resumed !== null) {
      const call = open.get(resumed[1]!)
      if (call?.name !== resumed[2]) continue
      open.delete(resumed[1]!)
      done.push({ ...call!, text: call!.text + resumed[3], end: at })
      continue
    }
    const made = /^(\d+)\s+(\w+)\((.*)$/.exec(line)
    if (made === null) continue
    const call = { name: made[2]!, text: made[3]!, start: at, end: at }
    if (call.text.endsWith('<unfinished ...>')) open.set(made[1]!, call)
    else done.push(call)
  }
  return [...done, ...open.values()]
}

const succeeded = (call: Call): boolean => /= \d+/.test(call.text)
const ofLog = (call: Call): boolean => /^\d+<[^>]*-wal>/.test(call.text)

export interface Order {
  requestRead: boolean
  logWritten: boolean
  syncedBeforeAnswer: boolean
}

/** There was one request in flight at a time, so all calls between its arrival and its response belong to it. */
const orderOf = (trace: Call[], requestId: string): Order => {
  const named = trace.filter((call) => call.text.includes(`${requestId}\\r\\n`))
  const read = named.find((call) => reading.includes(call.name))
  const answer = named.find((call) => sending.includes(call.name) && call.text.includes('HTTP/1.1 20'))
  const between = trace.filter((call) => read && answer && call.start > read.end && call.start < answer.start)
  const written = between.find((call) => writing.includes(call.name) && ofLog(call) && succeeded(call))
  const synced = between.find(
    (call) =>
      written !== undefined &&
      syncing.includes(call.name) &&
      ofLog(call) &&
      succeeded(call) &&
      call.start > written.end &&
      call.end < answer!.start,
  )
  return {
    requestRead: read !== undefined && answer !== undefined,
    logWritten: written !== undefined,
    syncedBeforeAnswer: synced !== undefined,
  }
}

export interface TracedServer {
  /** A key that is there to be revoked. */
  spareKeyId: string
  /** The status of the answer, which is whole when this resolves. */
  request(requestId: string, method: string, path: string, body?: unknown): Promise<number>
  /** Stops the server; what it did. */
  end(): Promise<{ orderOf(requestId: string): Order }>
  remove(): Promise<void>
}

export const traceServer = async (): Promise<TracedServer> => {
  const dir = makeTempDir()
  const dataDir = join(dir, 'data')
  const file = join(dir, 'trace')
  const organization = await runCubbyJson(dataDir, ['orgs', 'create', 'acme'])
  const spare = await runCubbyJson(dataDir, ['keys', 'create', '--org', 'acme', '--kind', 'public'])
  const serve = ['serve', '--data', dataDir, '--port', '0', '--no-bootstrap']
  const trace = ['-f', '-y', '-s', '2000', '-o', file, '-e', `trace=${calls.join(',')}`]
  const strace = Bun.spawn(['strace', ...trace, process.execPath, mainFile, ...serve], {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  })
  let log = ''
  const pump = (async () => {
    const decoder = new TextDecoder()
    for await (const chunk of strace.stderr) log += decoder.decode(chunk, { stream: true })
  })()
  /** strace's own child. Each line of the trace starts with a process; the first is the one it started. */
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    if (strace.exitCode === null) process.kill(Number.parseInt(readFileSync(file, 'utf8'), 10), signal)
    await strace.exited
    await pump
  }
  const url = await eventually('the traced server to listen', () => /"url":"([^"]+)"/.exec(log)?.[1])
  return {
    spareKeyId: spare.id,
    async request(requestId, method, path, body) {
      const headers = {
        authorization: `Bearer ${organization.secretKey}`,
        'x-request-id': requestId,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      }
      const answer = await fetch(url + path, {
        method,
        headers,
        body: body === undefined ? null : JSON.stringify(body),
      })
      await answer.text()
      return answer.status
    },
    async end() {
      await stop('SIGTERM')
      const parsed = parseTrace(readFileSync(file, 'utf8'))
      return { orderOf: (requestId) => orderOf(parsed, requestId) }
    },
    async remove() {
      await stop('SIGKILL')
      removeTempDir(dir)
    },
  }
}
