import { isIP } from 'node:net'
import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js'
import { OperatorError } from '../core/operator-error.ts'

/** The networks of `--push-allow`: targets there are allowed although they are not public. */
export type Allow = readonly [IPv4 | IPv6, number][]

export const allowNothing: Allow = []

/** `text`: CIDRs with commas between them, as `10.0.0.0/8,fd00::/8`. A plain address stands for itself alone. */
export const parseAllow = (text: string): Allow => text.split(',').map((part) => parseNetwork(part.trim()))

const parseNetwork = (text: string): [IPv4 | IPv6, number] => {
  const refuse = (reason: string): never => {
    throw new OperatorError(`--push-allow: ${reason}; give networks as 10.0.0.0/8,fd00::/8`)
  }
  if (text === '') return refuse('a network is empty')
  const [, address, prefix] = /^([0-9a-f.:]+)(?:\/(\d{1,3}))?$/i.exec(text) ?? []
  // The library alone also reads octal, hexadecimal and shortened addresses: 010.0.0.0/8 would be 8.0.0.0/8.
  if (address === undefined || isIP(address) === 0) return refuse(`"${text}" is not a network`)
  const network = ipaddr.parse(address)
  const bits = isIP(address) === 4 ? 32 : 128
  const prefixBits = prefix === undefined ? bits : Number(prefix)
  if (prefixBits > bits) return refuse(`"${text}" has more than ${bits} bits`)
  return [network, prefixBits]
}
