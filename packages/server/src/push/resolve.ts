/** All addresses of a name. Rejects, or has none, if there are none. */
export type Resolve = (name: string) => Promise<readonly string[]>

/**
 * c-ares, which knows `/etc/hosts` and asks without a thread. `lookup` of `node:dns` holds one of Bun's few threads until the
 * name server answers: with 300 names whose server is silent, reading a file took longer than 8 s, and with c-ares 1 ms.
 */
export const resolveName: Resolve = async (name) => {
  const found = await Bun.dns.lookup(name, { backend: 'c-ares' })
  return found.map(({ address }) => address)
}

/**
 * Allows at most this many lookups at once: a name server that is silent keeps each for many seconds. Above that it rejects.
 */
export const atMostAtOnce = (resolve: Resolve, max: number): Resolve => {
  let count = 0
  return async (name) => {
    if (count >= max) throw new Error('too many lookups at once')
    count++
    try {
      return await resolve(name)
    } finally {
      count--
    }
  }
}
