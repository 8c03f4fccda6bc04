import { OperatorError } from '../core/operator-error.ts'

/** Why the port could not be opened, in one line. `flags`: those that name the address. */
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
