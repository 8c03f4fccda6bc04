import { OperatorError } from '../core/operator-error.ts'
import type { Engine } from '../store/engine.ts'
import type { ServeOptions } from './serve-options.ts'

/** Says why the port could not be opened, in one line. `flags`: those that name the address. */
export const listenFailure = (
  error: unknown,
  host: string,
  port: number,
  flags = { host: '--host', port: '--port' },
): OperatorError => {
  const code = (error as { code?: string }).code
  if (code === 'EADDRINUSE') {
    return new OperatorError(
      `port ${port} on ${host} is taken; stop the process that listens there or give another ${flags.port}`,
    )
  }
  if (code === 'EACCES') return new OperatorError(`this user may not open port ${port} on ${host}`)
  if (code === 'ENOENT' || code === 'ENOTFOUND' || code === 'EADDRNOTAVAIL') {
    return new OperatorError(`${host} is not an address of this machine; give another ${flags.host}`)
  }
  return new OperatorError(`cannot listen on ${host}:${port}: ${(error as Error).message}`)
}

/** Checks that the port is free before the workers open it together: processes that share a port do not notice others. */
export const reservePort = (host: string, port: number): number => {
  try {
    const probe = Bun.listen({ hostname: host, port, socket: { data() {} } })
    const free = probe.port
    probe.stop(true)
    return free
  } catch (error) {
    throw listenFailure(error, host, port)
  }
}

export const urlOf = (host: string, port: number): string => `http://${host.includes(':') ? `[${host}]` : host}:${port}`

interface Listening {
  url: string
  files: string | undefined
  metrics: string | undefined
  workers?: number
}

/** Says where the server listens: in a sentence on a terminal, and otherwise in the log. */
export const announce = ({ log, print, store }: ServeOptions, engine: Engine, listening: Listening): void => {
  const { url, files, ...more } = listening
  const data = store.describe()
  engine.noteListening?.(Number(new URL(url).port || 80))
  const [isRead, isLogRead] = [process.stdout.isTTY === true, process.stderr.isTTY === true]
  if (isRead) {
    const others = [files && `files in ${files}`, more.metrics && `metrics on ${more.metrics}`].filter(Boolean)
    print(`Cubby is listening on ${url}, with ${[`the store in ${data}`, ...others].join(', ')}. Ctrl+C stops it.`)
  }
  if (!isRead || !isLogRead) log('info', 'listening', { url, engine: engine.description, data, files, ...more })
}
