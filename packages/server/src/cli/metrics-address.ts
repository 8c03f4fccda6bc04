import { type Arguments, type Flag, givenAs, UsageError } from './arguments.ts'

export const metricsFlag: Flag = {
  type: 'string',
  value: 'HOST:PORT',
  help: 'serve metrics for Prometheus there; they need no key: keep it private',
}

/** An address of IPv6 is in brackets: `[::1]:9464`. Port 0 picks a free one. */
export const parseMetricsAddress = (args: Arguments): { host: string; port: number } | undefined => {
  const text = args.text('metrics')
  if (text === undefined) return undefined
  const [, bracketed, plain, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:/[\]]+)):([0-9]{1,5})$/.exec(text) ?? []
  const host = bracketed ?? plain
  const port = Number(digits)
  if (host !== undefined && port <= 65_535) return { host, port }
  throw new UsageError(
    `${givenAs(args, 'metrics')} is "${text}"; it takes HOST:PORT, such as 127.0.0.1:9464 or [::1]:9464`,
  )
}
