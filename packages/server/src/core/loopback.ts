// Names and addresses that only programs of the same machine reach. A page of the web may have a name of its own that was made
// to point at this machine (DNS rebinding): then `Host` tells, because it is still that name.

/** More than any name and port have. A longer text is no host, and is not looked at. */
const hostCharactersMax = 300

/** Returns the host without its port. */
export const nameOfHost = (host: string): string => host.replace(/:[0-9]*$/, '').toLowerCase()

/** Tells whether a value of `Host` is a loopback name or address, with or without a port. */
export const isLoopbackHost = (host: string): boolean => {
  if (host.length > hostCharactersMax) return false
  const name = nameOfHost(host)
  return (
    name === 'localhost' || name.endsWith('.localhost') || name === '[::1]' || /^127(?:\.[0-9]{1,3}){3}$/.test(name)
  )
}

/** Tells whether a server that listens on this name or address is reached from this machine only. */
export const isLoopbackAddress = (address: string): boolean =>
  isLoopbackHost(address.includes(':') ? `[${address}]` : address) || /^::ffff:(?:127\.|7f[0-9a-f]{2}:)/i.test(address)
