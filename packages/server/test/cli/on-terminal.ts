import { cubbyCommand } from '../harness.ts'

export interface TerminalProcess {
  /** The text written to the terminal so far, with \n as line ends and without the line of progress. */
  text(): string
  /** The bytes as they came. */
  drawn(): string
  /** Its exit code, when all of its output has been read. */
  readonly exited: Promise<number>
  end(): Promise<number>
}

const running = new Set<Bun.Subprocess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Runs `cubby` with a terminal for all of its input and output. */
export const onTerminal = (
  args: string[],
  env: Record<string, string | undefined> = {},
  cols = 1_000,
): TerminalProcess => spawnOnTerminal([...cubbyCommand(), ...args], env, cols)

export const spawnOnTerminal = (
  command: string[],
  env: Record<string, string | undefined> = {},
  cols = 1_000,
): TerminalProcess => {
  const decoder = new TextDecoder()
  let text = ''
  const { promise: isRead, resolve } = Promise.withResolvers<void>()
  const kept = Object.entries(process.env).filter(([name]) => !/^(CUBBY_.*|NODE_ENV)$/.test(name))
  const child = Bun.spawn(command, {
    env: { ...Object.fromEntries(kept), ...env },
    terminal: {
      cols,
      rows: 50,
      data: (_, bytes) => {
        text += decoder.decode(bytes, { stream: true })
      },
      exit: () => resolve(),
    },
  })
  running.add(child)
  const exited = child.exited.then(async (exitCode) => {
    running.delete(child)
    await isRead
    return exitCode
  })
  return {
    // \r\x1b[2K clears the line of progress: ours, and drawn only on a terminal.
    text: () => text.replaceAll(/[^\r\n]*\r\x1b\[2K/g, '').replaceAll('\r\n', '\n'),
    drawn: () => text,
    exited,
    end() {
      child.kill('SIGTERM')
      return exited
    },
  }
}
