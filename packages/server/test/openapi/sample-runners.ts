import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

// Each runs the code of a sample, unchanged, and says what it printed.

export interface Said {
  status?: number
  value?: unknown
  /** The printed text, if it was neither of the two. */
  printed?: string
  /** The code of the error that our client threw. */
  code?: string
  /** The sample did not run to its end. */
  error?: string
}

type Environment = Record<'CUBBY_URL' | 'CUBBY_KEY', string>

/** `print(status, value)`, or `print(value)` of what a client returned. */
const said = (given: unknown[]): Said => {
  if (given.length === 2) return { status: given[0] as number, value: given[1] }
  return given[0] === undefined ? { printed: 'undefined' } : { value: given[0] }
}

let files = 0

/** Runs the sample in this process, as a module in `folder`, where our client is installed. */
export const runTypeScript = async (source: string, folder: string, environment: Environment): Promise<Said> => {
  const file = join(folder, `run-${++files}.ts`)
  writeFileSync(file, source)
  Object.assign(process.env, environment)
  const { log } = console
  const calls: unknown[][] = []
  console.log = (...given) => calls.push(given)
  try {
    await import(file)
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    return code === undefined ? { error: message } : { code }
  } finally {
    console.log = log
    rmSync(file)
    delete process.env.CUBBY_URL
    delete process.env.CUBBY_KEY
  }
  return calls.length === 1 ? said(calls[0]!) : { error: `${calls.length} lines were printed` }
}

/** Runs the samples that come as lines of JSON, one after the other: a process for each would take most of the time. */
const pythonProgram = `
import json, os, sys
for line in sys.stdin:
    sample = json.loads(line)
    os.environ.update(sample["environment"])
    printed = []
    try:
        exec(sample["source"], {"print": lambda *given: printed.append(given)})
        result = {"printed": printed}
    except Exception as error:
        result = {"error": repr(error)}
    sys.stdout.write(json.dumps(result) + "\\n")
    sys.stdout.flush()
`

export class PythonRunner {
  readonly #child: Bun.Subprocess<'pipe', 'pipe', 'inherit'>
  readonly #lines: AsyncIterator<string>

  constructor(python: string) {
    this.#child = Bun.spawn([python, '-c', pythonProgram], { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' })
    this.#lines = linesOf(this.#child.stdout)
  }

  /** Undefined if there is no Python with `requests`; then it prints what is skipped. */
  static find(what: string): string | undefined {
    const path = Bun.which('python3')
    const found = path !== null && Bun.spawnSync([path, '-c', 'import requests'], { stderr: 'ignore' }).exitCode === 0
    if (found) return path
    console.warn(`SKIPPED: ${what}. No python3 with the module requests was found.`)
    return undefined
  }

  async run(source: string, environment: Environment): Promise<Said> {
    this.#child.stdin.write(`${JSON.stringify({ source, environment })}\n`)
    this.#child.stdin.flush()
    const line = await this.#lines.next()
    if (line.done) return { error: 'the process has ended' }
    const { error, printed } = JSON.parse(line.value) as { error?: string; printed: unknown[][] }
    if (error !== undefined) return { error }
    return printed.length === 1 ? said(printed[0]!) : { error: `${printed.length} lines were printed` }
  }

  async stop(): Promise<void> {
    this.#child.stdin.end()
    await this.#child.exited
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop()!
    yield* lines
  }
}

/** Runs the sample in a shell, with the status after the body. `-I` prints the headers itself. */
export const runCurl = async (source: string, environment: Environment): Promise<Said> => {
  const command = source.replace(/^curl /, "curl -sS -w '\\n%{http_code}' ")
  const child = Bun.spawn(['sh', '-c', command], {
    env: { ...process.env, ...environment },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [text, fault] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  if ((await child.exited) !== 0) return { error: fault }
  const at = text.lastIndexOf('\n')
  const body = text.slice(0, at)
  const hasHeadersOnly = body === '' || source.startsWith('curl -I ')
  const value = body.startsWith('{') ? JSON.parse(body) : hasHeadersOnly ? {} : body
  return { status: Number(text.slice(at + 1)), value }
}
