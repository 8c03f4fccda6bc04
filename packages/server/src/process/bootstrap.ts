import { isConsoleBuilt, notBuiltHint } from '../console/served-console.ts'
import { consoleUrl, linkKeyRequest, linkMinutes, signInLink } from '../console/sign-in-link.ts'
import { makeApiKey } from '../core/api-keys/api-key.ts'
import { shellWord } from '../core/text/shell-word.ts'
import type { Engine } from '../store/engine.ts'
import type { Organization } from '../store/organizations.ts'
import { typedCommand } from './own-program.ts'
import type { ServeOptions } from './serve-options.ts'

/** Tells whether people can use it. Without its files the server serves everything else. */
const checkConsole = async ({ hasConsole, log }: ServeOptions): Promise<boolean> => {
  if (!hasConsole) return false
  const isBuilt = await isConsoleBuilt()
  if (!isBuilt) log('warn', 'the console is not built', { hint: notBuiltHint })
  return isBuilt
}

/**
 * Logs a line if the console is missing. With --no-bootstrap that is all.
 * On a store that never had an organization: creates "default" and prints its two keys, which are never shown again, and a
 * link to the console. On any other store: prints where the console is, and how to create another key or link.
 */
export const bootstrap = async (engine: Engine, ownUrl: string, options: ServeOptions): Promise<void> => {
  const hasConsole = await checkConsole(options)
  if (!options.bootstrap) return
  const url = options.publicUrl ?? ownUrl
  const nowMs = options.clock.now()
  const secret = makeApiKey({ kind: 'secret' })
  const open = makeApiKey({ kind: 'public' })
  const link = hasConsole ? makeApiKey(linkKeyRequest(nowMs)) : undefined
  // The keys are created together: if several processes start at once, the one that creates the organization prints the
  // link.
  const keys = [secret, open, ...(link === undefined ? [] : [link])].map(({ kept }) => kept)
  const organization = await engine.organizations.bootstrap('default', keys, nowMs)
  const greeting =
    organization === undefined
      ? await laterGreeting(engine, url, options.storeFlags, hasConsole)
      : firstGreeting(url, secret.text, open.text, link?.text)
  for (const line of greeting.split('\n')) options.print(line)
}

const linkText = (url: string, key: string): string => `
Open the console with this link. It signs you in, and expires after ${linkMinutes} minutes:

  ${signInLink(url, key)}
`

const firstGreeting = (url: string, secretKey: string, publicKey: string, linkKey: string | undefined): string => `
Cubby is running. These keys of the organization "default" are shown only once:

  secret key  ${secretKey}  reads and writes: keep it on your server
  public key  ${publicKey}   reads only: for browsers

Create a table, put a record into it, and read it:

  export CUBBY_URL=${shellWord(url)} CUBBY_KEY=${secretKey}
  curl -X POST $CUBBY_URL/v1/app/notes -H "Authorization: Bearer $CUBBY_KEY"
  curl -X PUT $CUBBY_URL/v1/app/notes -H "Authorization: Bearer $CUBBY_KEY" -H 'Content-Type: application/json' -d '{"hashKey":"first","data":{"text":"hello"}}'
  curl $CUBBY_URL/v1/app/notes/first -H "Authorization: Bearer $CUBBY_KEY"

The API is documented at ${url}/docs
${linkKey === undefined ? '' : linkText(url, linkKey)}`

/** Greets operators who have lost the first keys, or have no key at hand. */
const laterGreeting = async (engine: Engine, url: string, storeFlags: string, hasConsole: boolean): Promise<string> => {
  const isActive = ({ deletedAtMs }: Organization): boolean => deletedAtMs === null
  const first = await engine.organizations.find('default')
  const name = first !== undefined && isActive(first) ? 'default' : 'NAME'
  const command = (...words: string[]): string =>
    [typedCommand(), ...words, storeFlags].filter((part) => part !== '').join(' ')
  const lines = [
    `The API is documented at ${url}/docs`,
    `To create another API key: ${command('keys create --org', name, '--kind secret')}`,
  ]
  if (hasConsole) {
    lines.unshift(`The console is at ${consoleUrl(url)}`)
    lines.push(`To sign in to the console by a link: ${command('console link --org', name, `--url ${shellWord(url)}`)}`)
  }
  // The greeting does not suggest "default" once more: an operator who deleted it does not expect it back.
  if (name === 'NAME' && !(await engine.organizations.list()).some(isActive))
    lines.push(`There is no organization. To create one: ${command('orgs create NAME')}`)
  return lines.join('\n')
}
