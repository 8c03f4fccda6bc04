import { lookup } from 'node:dns/promises'

/** All addresses of a name. Rejects if there are none. */
export type Resolve = (name: string) => Promise<readonly string[]>

/** As other programs of this machine resolve it, `/etc/hosts` included. */
export const resolveName: Resolve = async (name) => {
  const found = await lookup(name, { all: true })
  return found.map(({ address }) => address)
}
