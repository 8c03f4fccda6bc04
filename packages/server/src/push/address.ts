import { isIP } from 'node:net'
import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js'
import type { Allow } from './allow.ts'

/** The standing of an address: whether the operator named it, and if not, whether it is public. */
export type Standing = 'named' | 'public' | 'refused'

/** `text`: a literal, or what a name resolved to. What cannot be read is refused. */
export const standingOf = (text: string, allow: Allow): Standing => {
  const address = parseAddress(text)
  if (address === undefined) return 'refused'
  if (isIn(address, allow)) return 'named'
  const addresses = addressesIn(address)
  if (addresses.every((one) => isIn(one, allow))) return 'named'
  return addresses.every((one) => isIn(one, allow) || isPublic(one)) ? 'public' : 'refused'
}

/** Undefined also for a zone id (`fe80::1%eth0`): it names an interface of this machine. */
const parseAddress = (text: string): IPv4 | IPv6 | undefined =>
  isIP(text) === 0 || text.includes('%') ? undefined : ipaddr.parse(text)

const isFour = (address: IPv4 | IPv6): address is IPv4 => address.kind() === 'ipv4'

const isIn = (address: IPv4 | IPv6, networks: Allow): boolean =>
  networks.some(([network, bits]) => network.kind() === address.kind() && address.match(network as never, bits))

const network = (text: string): [IPv6, number] => ipaddr.IPv6.parseCIDR(text)

const globalUnicast = network('2000::/3')

/**
 * Azure gives it to the host of each virtual machine, which tells the machine its secrets. No registry lists it as special;
 * such addresses of other clouds are link-local, private or reserved.
 */
const azureHost = ipaddr.IPv4.parse('168.63.129.16')

/**
 * `unicast` is what none of the library's special ranges has. An IPv6 address must also be of the one block that is assigned.
 */
const isPublic = (address: IPv4 | IPv6): boolean =>
  address.range() === 'unicast' && (isFour(address) ? !address.match(azureHost, 32) : address.match(globalUnicast))

/** Prefixes of addresses whose last 32 bits are the IPv4 address. */
const carriers = [
  network('::/96'), // IPv4-compatible; also :: and ::1, as 0.0.0.0 and 0.0.0.1
  network('::ffff:0:0/96'), // IPv4-mapped
  network('::ffff:0:0:0/96'), // IPv4-translated
  network('64:ff9b::/96'), // NAT64
]
const sixToFour = network('2002::/16')
const teredo = network('2001::/32')

/**
 * Returns the addresses to check: the IPv4 addresses inside an IPv6 one, because packets end there; otherwise the address
 * itself. An ISATAP address needs both. The prefix 64:ff9b:1::/48 of local NAT64 is checked as itself, so it is refused unless
 * the operator names it: where in it the IPv4 address is depends on the translator.
 */
const addressesIn = (address: IPv4 | IPv6): (IPv4 | IPv6)[] => {
  if (isFour(address)) return [address]
  const { parts } = address
  const inside = (index: number, flip = 0): IPv4 => {
    const [high, low] = [parts[index]! ^ flip, parts[index + 1]! ^ flip]
    return new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff])
  }
  if (carriers.some((carrier) => address.match(carrier))) return [inside(6)]
  const isIsatap = (parts[4]! & 0xfdff) === 0 && parts[5] === 0x5efe
  return [
    ...(address.match(sixToFour)
      ? [inside(1)]
      : address.match(teredo)
        ? // The server, and the client with its bits flipped.
          [inside(2), inside(6, 0xffff)]
        : [address]),
    ...(isIsatap ? [inside(6)] : []),
  ]
}
