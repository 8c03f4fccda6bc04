import { type Arguments, type Flag, givenAs, UsageError } from './arguments.ts'

// The addresses that `cubby serve` takes.

export const publicUrlFlag: Flag = {
  type: 'string',
  value: 'URL',
  help: 'the address at which callers reach the server, behind a proxy',
}

/** The address without a slash at its end. It is shown to everybody, so it must not contain a password. */
export const parsePublicUrl = (text: string | undefined): string | undefined => {
  if (text === undefined) return undefined
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null
  const isPlain = url !== null && url.username === '' && url.password === '' && !/[?#]/.test(text)
  const address = url?.href.replace(/\/+$/, '')
  // The redirect of `GET /` begins with the path: after two slashes, a browser would read the name of a host.
  if (isPlain && address!.lastIndexOf('//') === address!.indexOf('//')) return address
  const shown = url?.password ? '' : ` is "${text}"; it`
  throw new UsageError(
    `--public-url${shown} takes an http or https address without user, query, fragment and empty segments, such as https://cubby.example.com`,
  )
}

export const allowedOriginsFlag: Flag = {
  type: 'string',
  value: 'ORIGIN,…',
  help: 'web pages of other origins that may call /mcp (public keys only)',
}

/** Parses origins as browsers send them: scheme and host, without a path. */
export const parseAllowedOrigins = (text: string | undefined): readonly string[] => {
  if (text === undefined) return []
  return text.split(',').map((part) => {
    const url = /^https?:\/\//i.test(part.trim()) ? URL.parse(part.trim()) : null
    if (url !== null && url.href === `${url.origin}/`) return url.origin
    throw new UsageError(
      `--allowed-origins has "${part.trim()}"; it takes origins, such as https://app.example.com, separated by commas`,
    )
  })
}

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
