import { cubbyCommand, mainFile, Server, storeArguments } from '../harness.ts'

// `cubby serve` as an operator starts it. The test chooses flags, environment and wrapper, and the start may fail.

export { mainFile }

export interface ServeOptions {
  dataDir: string
  /** The arguments after `serve`; the store and a free port are added unless `bare`. */
  args?: string[]
  bare?: boolean
  env?: Record<string, string | undefined>
  /** Words before the command: `['sh', '-c', 'ulimit -n 256; exec "$@"', 'sh']`. */
  wrapper?: string[]
  /** The directory in which the process runs. */
  cwd?: string
  /** See `cubbyCommand`. */
  program?: string
}

export interface ServeProcess {
  readonly pid: number
  /** Speaks with the process; set as soon as `ready` resolves. */
  readonly server: Server
  stdout: string
  stderr: string
  /** The lines of the log that are JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: a log entry is whatever was logged.
  readonly log: any[]
  /** Resolves when it listens; rejects when it ends before. */
  readonly ready: Promise<void>
  /** Resolves with the exit code when all output is read. */
  readonly exited: Promise<number>
  end(signal?: NodeJS.Signals): Promise<number>
}

const running = new Set<ServeProcess>()

/** Ends, in `afterEach`, what a test that failed half-way left running. */
export const endAllServing = async (): Promise<void> => {
  await Promise.all([...running].map((serving) => serving.end('SIGKILL')))
}

/** The environment of the test run without what would be read as flags. */
const cleanEnvironment = (): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(CUBBY_.*|NODE_ENV)$/.test(name)))

export const spawnServe = (options: ServeOptions): ServeProcess => {
  const { dataDir, args = [], wrapper = [] } = options
  const place = options.bare === true ? [] : [...storeArguments(dataDir), '--port', '0']
  const child = Bun.spawn([...wrapper, ...cubbyCommand(options.program), 'serve', ...place, ...args], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    cwd: options.cwd,
    env: { ...cleanEnvironment(), ...options.env },
  })
  const ready = Promise.withResolvers<void>()
  ready.promise.catch(() => {})
  const serving: ServeProcess = {
    pid: child.pid,
    server: new Server({ dataDir }),
    stdout: '',
    stderr: '',
    get log() {
      return this.stderr.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []))
    },
    ready: ready.promise,
    exited: Promise.all([
      child.exited,
      collect(child.stdout, (text) => {
        serving.stdout += text
      }),
      collect(child.stderr, (text) => {
        serving.stderr += text
        if (serving.server.port !== 0 || !text.includes('\n')) return
        const url = /http:\/\/[^\s"]+/.exec(serving.stderr)?.[0]
        if (url === undefined || !serving.stderr.includes('listening')) return
        serving.server.url = url
        serving.server.port = Number(new URL(url).port)
        ready.resolve()
      }),
    ]).then(([code]) => {
      running.delete(serving)
      ready.reject(new Error(`serve exited with ${code}: ${serving.stderr}`))
      return code
    }),
    async end(signal = 'SIGTERM') {
      child.kill(signal)
      return serving.exited
    },
  }
  running.add(serving)
  return serving
}

const collect = async (stream: ReadableStream<Uint8Array>, take: (text: string) => void): Promise<void> => {
  const decoder = new TextDecoder()
  for await (const chunk of stream) take(decoder.decode(chunk, { stream: true }))
}
