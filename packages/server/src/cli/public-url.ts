import { type Flag, UsageError } from './arguments.ts'

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
