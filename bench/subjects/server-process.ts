import { cleanEnvironment, trackChild } from '../cleanup.ts'

export interface ServerProcess {
  readonly pid: number
  readonly port: number
  /** The time from the start of the process to the line that says it listens. */
  readonly startMs: number
  stop(): Promise<void>
}

export interface ServerOptions {
  command: string[]
  env?: Record<string, string | undefined>
}

const readyMsMax = 60_000

/** Starts a server that logs `listening` and its `url` as a line of JSON on standard error. */
export const startServer = async ({ command, env = {} }: ServerOptions): Promise<ServerProcess> => {
  const started = performance.now()
  const child = trackChild(
    Bun.spawn(command, {
      stdin: 'pipe',
      stdout: 'ignore',
      stderr: 'pipe',
      env: { ...cleanEnvironment(), ...env },
    }),
  )
  let output = ''
  const ready = Promise.withResolvers<number>()
  const read = async () => {
    const decoder = new TextDecoder()
    for await (const chunk of child.stderr) {
      const text = decoder.decode(chunk, { stream: true })
      output = (output + text).slice(-20_000)
      const url = /"message":"listening".*?"url":"([^"]+)"/.exec(output)?.[1]
      if (url !== undefined) ready.resolve(Number(new URL(url).port))
    }
    ready.reject(new Error(`${command.slice(0, 4).join(' ')} ended with ${await child.exited}:\n${output}`))
  }
  void read()
  const timer = setTimeout(() => ready.reject(new Error(`${command.join(' ')} did not start:\n${output}`)), readyMsMax)
  const port = await ready.promise.finally(() => clearTimeout(timer))
  return {
    pid: child.pid,
    port,
    startMs: performance.now() - started,
    async stop() {
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), 15_000)
      await child.exited
      clearTimeout(late)
    },
  }
}
