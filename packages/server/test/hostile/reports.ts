// The protocol between a test and the processes that it starts: one line of JSON at the start, then one line for each report.
// A line `keep` asks for a report that the next one includes again.
// When the test dies, its processes see the end of their input and end too.

/**
 * Runs in the process. It begins with the first line, answers that line when it has begun, and every further one with a
 * report.
 */
export const answerLines = async <Order, Report>(
  begin: (order: Order) => Promise<(keep: boolean) => Report>,
): Promise<void> => {
  let report: ((keep: boolean) => Report) | undefined
  let rest = ''
  const decoder = new TextDecoder()
  for await (const bytes of Bun.stdin.stream()) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop()!
    for (const line of lines) {
      report ??= await begin(JSON.parse(line))
      process.stdout.write(`${JSON.stringify(report(line === 'keep'))}\n`)
    }
  }
  process.exit(0)
}

/** The process as the test sees it, from its first report on. */
export class Reporter<Report> {
  readonly #child: Bun.Subprocess<'pipe', 'pipe', 'inherit'>
  readonly #lines: AsyncGenerator<string>

  private constructor(child: Bun.Subprocess<'pipe', 'pipe', 'inherit'>) {
    this.#child = child
    this.#lines = linesOf(child.stdout)
  }

  /** Resolves when the process has begun. */
  static async start<Order, Report>(file: URL, order: Order): Promise<Reporter<Report>> {
    const script = Bun.fileURLToPath(file)
    // Ten thousand connections are ten thousand open files.
    const command = ['sh', '-c', 'ulimit -n "$(ulimit -H -n)"; exec "$@"', 'sh', process.execPath, script]
    const child = Bun.spawn(command, { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' })
    const reporter = new Reporter<Report>(child)
    try {
      await reporter.#ask(JSON.stringify(order))
    } catch (error) {
      await reporter.end()
      throw error
    }
    return reporter
  }

  /** Returns what happened since the last report. */
  report(): Promise<Report> {
    return this.#ask('')
  }

  /** The same, which the next report includes too. */
  look(): Promise<Report> {
    return this.#ask('keep')
  }

  async #ask(line: string): Promise<Report> {
    this.#child.stdin.write(`${line}\n`)
    await this.#child.stdin.flush()
    const { value, done } = await this.#lines.next()
    if (done === true) throw new Error(`${this.#child.pid} ended with ${await this.#child.exited} before its report`)
    return JSON.parse(value)
  }

  async end(): Promise<void> {
    await this.#child.stdin.end()
    this.#child.kill()
    await this.#child.exited
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop()!
    yield* lines
  }
}
