import { makeApiKey } from '../core/api-keys/api-key.ts'
import { shellWord } from '../core/text/shell-word.ts'
import type { Engine } from '../store/engine.ts'
import type { ServeOptions } from './serve-options.ts'

/**
 * On an empty store: creates the organization "default" and prints its two keys. They are never shown again. On any other
 * store: prints how to create another key.
 */
export const bootstrap = async (engine: Engine, ownUrl: string, options: ServeOptions): Promise<void> => {
  const url = options.publicUrl ?? ownUrl
  const secret = makeApiKey({ kind: 'secret' })
  const open = makeApiKey({ kind: 'public' })
  const organization = await engine.organizations.bootstrap('default', [secret.kept, open.kept], options.clock.now())
  const greeting =
    organization === undefined
      ? await laterGreeting(engine, url, options.storeFlags)
      : firstGreeting(url, secret.text, open.text)
  for (const line of greeting.split('\n')) options.print(line)
}

const firstGreeting = (url: string, secretKey: string, publicKey: string): string => `
Cubby is running. These keys of the organization "default" are shown only once:

  secret key  ${secretKey}  reads and writes: keep it on your server
  public key  ${publicKey}   reads only: for browsers

Create a table, put a record into it, and read it:

  export CUBBY_URL=${shellWord(url)} CUBBY_KEY=${secretKey}
  curl -X POST $CUBBY_URL/v1/app/notes -H "Authorization: Bearer $CUBBY_KEY"
  curl -X PUT $CUBBY_URL/v1/app/notes -H "Authorization: Bearer $CUBBY_KEY" -H 'Content-Type: application/json' -d '{"hashKey":"first","data":{"text":"hello"}}'
  curl $CUBBY_URL/v1/app/notes/first -H "Authorization: Bearer $CUBBY_KEY"

The API is documented at ${url}/docs
`

/** For those who have lost the first keys. */
const laterGreeting = async (engine: Engine, url: string, storeFlags: string): Promise<string> => {
  const name = (await engine.organizations.find('default')) === undefined ? 'NAME' : 'default'
  const command = ['npx cubbydb keys create --org', name, '--kind secret', storeFlags].join(' ').trimEnd()
  return `The API is documented at ${url}/docs\nTo create another API key: ${command}`
}
