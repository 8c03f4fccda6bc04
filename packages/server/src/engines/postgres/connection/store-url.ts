import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { StoreRefused, StoreUrlRefused } from '../../../core/store-refused.ts'

/** A parsed `postgres://user:password@host:port/database?sslmode=…`. */
export interface StoreUrl {
  host: string
  port: number
  user: string
  password: string | undefined
  database: string
  /** False means no TLS. */
  ssl: false | ConnectionOptions
  /** Settings for the session, in the form of libpq's `options`. */
  options: string | undefined
  /** Messages show this form, which has no password. */
  shown: string
}

const sslModes = ['disable', 'require', 'verify-ca', 'verify-full']
const parameters = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'host', 'port', 'options']

// Messages repeat nothing of the URL but names of parameters: it contains the password.
const refuse = (message: string): never => {
  throw new StoreUrlRefused(message)
}

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return refuse('a percent-escape in the URL is malformed; write "%" as "%25"')
  }
}

const readFile = (parameter: string, path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new StoreRefused(`${parameter}: ${path} cannot be read (${(error as { code?: string }).code})`)
  }
}

const parseTls = (query: URLSearchParams): false | ConnectionOptions => {
  const mode = query.get('sslmode') ?? 'disable'
  if (!sslModes.includes(mode)) return refuse(`sslmode takes one of ${sslModes.join(', ')}`)
  const file = (parameter: string): string | undefined => {
    const path = query.get(parameter)
    return path === null ? undefined : readFile(parameter, path)
  }
  const [ca, cert, key] = [file('sslrootcert'), file('sslcert'), file('sslkey')]
  if (mode === 'disable') {
    return (ca ?? cert ?? key) ? refuse('a certificate is given but no sslmode; add sslmode=verify-full') : false
  }
  if (mode === 'verify-ca' && ca === undefined) return refuse('sslmode=verify-ca needs sslrootcert, the CA to trust')
  const ssl: ConnectionOptions = { ca, cert, key }
  // `require` means the same as in libpq: alone it trusts any certificate, and with a CA it is `verify-ca`.
  if (mode === 'require' && ca === undefined) ssl.rejectUnauthorized = false
  else ssl.rejectUnauthorized = true
  if (mode !== 'verify-full') ssl.checkServerIdentity = () => undefined
  return ssl
}

/** `givenAs` begins the message about a malformed URL: the flag or the variable that must be corrected. */
export const parseStoreUrl = (text: string, givenAs = '--store'): StoreUrl => {
  try {
    return parseUrl(text)
  } catch (error) {
    if (error instanceof StoreRefused) error.message = `${givenAs}: ${error.message}`
    throw error
  }
}

const parseUrl = (text: string): StoreUrl => {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    return refuse('this is no URL; it takes postgres://user:password@host/database, special characters percent-encoded')
  }
  if (url.protocol !== 'postgres:' && url.protocol !== 'postgresql:') return refuse('the URL starts with postgres://')
  for (const name of url.searchParams.keys()) {
    // A misspelt setting that is ignored might be the one that encrypts.
    if (!parameters.includes(name))
      return refuse(`the URL has a parameter that is not known; these are: ${parameters.join(', ')}`)
  }
  const query = url.searchParams
  const host = query.get('host') ?? (decode(url.hostname).replace(/^\[(.+)\]$/, '$1') || 'localhost')
  const port = Number(query.get('port') ?? (url.port || '5432'))
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return refuse('the port takes 1 to 65535')
  const user = decode(url.username) || 'postgres'
  const database = decode(url.pathname.slice(1)) || user
  return {
    host,
    port,
    user,
    password: url.password === '' ? undefined : decode(url.password),
    database,
    ssl: parseTls(query),
    options: query.get('options') ?? undefined,
    shown: `${user}@${host}:${port}/${database}`,
  }
}

/** Returns whether the connection stays on this machine. */
export const isLocal = ({ host }: StoreUrl): boolean =>
  host.startsWith('/') || host === 'localhost' || host === '::1' || /^127\./.test(host)
