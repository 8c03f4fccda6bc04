import { makeApiKey } from '../core/api-keys/api-key.ts'
import type { Engine } from '../store/engine.ts'

/** On an empty store: creates the organization "default" and prints its two keys. They are never shown again. */
export const bootstrap = async (
  engine: Engine,
  url: string,
  nowMs: number,
  print: (line: string) => void,
): Promise<void> => {
  const secret = makeApiKey({ kind: 'secret' })
  const open = makeApiKey({ kind: 'public' })
  const organization = await engine.organizations.bootstrap('default', [secret.kept, open.kept], nowMs)
  if (organization === undefined) return
  const greeting = `
Cubby is running. These keys of the organization "default" are shown only once:

  secret key  ${secret.text}  reads and writes: keep it on your server
  public key  ${open.text}   reads only: for browsers

Create a table, put a record into it, and read it:

  export CUBBY_URL=${url} CUBBY_KEY=${secret.text}
  curl -X POST $CUBBY_URL/v1/app/notes -H "Authorization: Bearer $CUBBY_KEY"
  curl -X PUT $CUBBY_URL/v1/app/notes -H "Authorization: Bearer $CUBBY_KEY" -H 'Content-Type: application/json' -d '{"hashKey":"first","data":{"text":"hello"}}'
  curl $CUBBY_URL/v1/app/notes/first -H "Authorization: Bearer $CUBBY_KEY"
`
  for (const line of greeting.split('\n')) print(line)
}
