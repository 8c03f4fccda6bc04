import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { isIPv4 } from 'node:net'

// Certificates for tests, made here so that none in the repository ever expires.

const der = (tag: number, ...parts: (Uint8Array | string)[]): Buffer => {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part as Uint8Array)))
  const { length } = content
  const header =
    length < 128 ? [tag, length] : length < 256 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from(header), content])
}
const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts)
const oid = (...bytes: number[]) => der(0x06, Buffer.from(bytes))
const time = (at: Date) => der(0x18, at.toISOString().replaceAll(/[-:T]|\.\d+/g, ''))
const nameOf = (commonName: string) => sequence(der(0x31, sequence(oid(0x55, 4, 3), der(0x0c, commonName))))
const extension = (id: Uint8Array, value: Uint8Array) => sequence(id, der(0x01, Buffer.from([0xff])), der(0x04, value))
const ecdsaWithSha256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2))

export interface Authority {
  name: string
  key: KeyObject
}

const alternativeName = (host: string) =>
  isIPv4(host) ? der(0x87, Buffer.from(host.split('.').map(Number))) : der(0x82, host)

/** A certificate for `hostName`, which may be an IPv4 address, or of an authority. */
export const certify = (subject: string, publicKey: KeyObject, by: Authority, hostName?: string): string => {
  const now = Date.now()
  const particular =
    hostName === undefined
      ? extension(oid(0x55, 0x1d, 0x13), sequence(der(0x01, Buffer.from([0xff]))))
      : extension(oid(0x55, 0x1d, 0x11), sequence(alternativeName(hostName)))
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1, ...crypto.getRandomValues(new Uint8Array(8))])),
    ecdsaWithSha256,
    nameOf(by.name),
    sequence(time(new Date(now - 3_600_000)), time(new Date(now + 3_600_000))),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(particular)),
  )
  const signature = sign('sha256', body, by.key)
  const whole = sequence(body, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature))
  return `-----BEGIN CERTIFICATE-----\n${whole
    .toString('base64')
    .match(/.{1,64}/g)!
    .join('\n')}\n-----END CERTIFICATE-----\n`
}

export const makePair = () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' })

export const makeAuthority = (name: string): Authority & { certificate: string } => {
  const { privateKey, publicKey } = makePair()
  const authority = { name, key: privateKey }
  return { ...authority, certificate: certify(name, publicKey, authority) }
}
