import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// Makes sure that no process keeps running and no directory is left, however the run ends.

const children = new Set<Bun.Subprocess>()
const closers = new Set<() => Promise<void>>()
let directory: string | undefined
let parent = tmpdir()

/** Sets where stores are created. Call it before the first one is created. */
export const placeStoresIn = (path: string): void => {
  parent = path
}

/** One directory for everything that this run writes, removed at its end. */
export const temporaryDirectory = (): string => {
  directory ??= mkdtempSync(join(parent, 'cubby-bench-'))
  return directory
}

export const trackChild = <T extends Bun.Subprocess>(child: T): T => {
  children.add(child)
  void child.exited.then(() => children.delete(child))
  return child
}

/** Registers cleanup that is more than ending a process, such as a database server with its files. */
export const trackCloser = (close: () => Promise<void>): (() => Promise<void>) => {
  const once = async () => {
    if (closers.delete(once)) await close()
  }
  closers.add(once)
  return once
}

export interface ChildResult {
  stdout: string
  cpuSeconds: number
}

/** Runs a command and waits for it. An exit code other than 0 is an error with the command's output. */
export const runChild = async (command: string[], options: { cwd?: string } = {}): Promise<ChildResult> => {
  const child = trackChild(
    Bun.spawn(command, { stdin: 'pipe', stdout: 'pipe', stderr: 'pipe', env: cleanEnvironment(), ...options }),
  )
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  if (code !== 0) throw new Error(`${command.slice(0, 3).join(' ')} … ended with ${code}:\n${stderr || stdout}`)
  const cpu = child.resourceUsage()?.cpuTime
  return { stdout, cpuSeconds: cpu === undefined ? 0 : Number(cpu.total) / 1e6 }
}

/** The environment without the variables that a server would read as flags. */
export const cleanEnvironment = (): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(CUBBY_.*|NODE_ENV)$/.test(name)))

export const cleanUp = async (): Promise<void> => {
  const closed = Promise.all([...closers].map((close) => close().catch(() => {})))
  await Promise.race([closed, Bun.sleep(8_000)])
  endNow()
}

const endNow = (): void => {
  for (const child of children) child.kill('SIGKILL')
  if (directory !== undefined) rmSync(directory, { recursive: true, force: true })
  directory = undefined
}

let interrupted = false

/** True after a signal. Its handler ends the process once everything is cleaned up. */
export const isInterrupted = (): boolean => interrupted

export const cleanUpAtExit = (): void => {
  process.on('exit', endNow)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      interrupted = true
      process.stderr.write(`\n${signal}: stopping and cleaning up\n`)
      void cleanUp().finally(() => process.exit(130))
    })
  }
}
