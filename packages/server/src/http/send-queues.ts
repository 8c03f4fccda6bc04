import { readFile } from 'node:fs/promises'

/** The other end of a connection, as Bun tells it, and the port of this end: a client may use one port for several servers. */
export interface Peer {
  readonly address: string
  readonly port: number
  readonly localPort: number
}

/** Returns how many bytes the system holds for a peer that it has not taken yet. */
export type SendQueues = (peer: Peer) => number

const files = ['/proc/net/tcp', '/proc/net/tcp6']

/** The name of a connection. An IPv4 address has one name, whether or not its socket is one of IPv6. */
const nameOf = ({ address, port, localPort }: Peer): string => {
  const plain = address.replace(/^::ffff:(?=[0-9.]+$)/i, '')
  return `${plain.includes(':') ? new URL(`http://[${plain}]`).hostname : plain}|${port}|${localPort}`
}

/** The kernel writes an address as words of four bytes in the order of the machine, which is little-endian. */
const addressOf = (hex: string): string => {
  const bytes = hex.match(/.{8}/g)!.flatMap((word) => [...Buffer.from(word, 'hex').reverse()])
  const isMapped = bytes.length === 16 && Buffer.from(bytes.slice(0, 12)).toString('hex') === `${'0'.repeat(20)}ffff`
  if (bytes.length === 4 || isMapped) return bytes.slice(-4).join('.')
  return Buffer.from(bytes).toString('hex').match(/.{4}/g)!.join(':')
}

/** A line: its number, local address, remote address, state, `tx_queue:rx_queue`, and more, in hexadecimal digits. */
const line = /^ *\d+: [0-9A-F]+:([0-9A-F]+) ([0-9A-F]+):([0-9A-F]+) [0-9A-F]+ ([0-9A-F]+):/gm

const hexadecimal = (text: string): number => Number.parseInt(text, 16)

/**
 * The send queues of all connections of the machine that have one, as Linux shows them. Between a process and a client that
 * does not read, the system holds up to some megabytes, which Bun counts as sent. Elsewhere no queue is known.
 */
export const readSendQueues = async (paths = files): Promise<SendQueues> => {
  const queues = new Map<string, number>()
  for (const path of paths) {
    const text = await readFile(path, 'latin1').catch(() => '')
    for (const [, localPort, address, port, queue] of text.matchAll(line)) {
      const bytes = hexadecimal(queue!)
      if (bytes === 0) continue
      const peer = { address: addressOf(address!), port: hexadecimal(port!), localPort: hexadecimal(localPort!) }
      queues.set(nameOf(peer), bytes)
    }
  }
  return (peer) => queues.get(nameOf(peer)) ?? 0
}
