import { closeSync, fdatasyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { arch, availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { temporaryDirectory } from './cleanup.ts'
import { wrkVersion } from './load/wrk.ts'
import { median } from './stats.ts'
import { peerVersions } from './subjects/peers.ts'

const output = (command: string[]): string => {
  try {
    return Bun.spawnSync(command, { stderr: 'ignore', env: { ...process.env, LC_ALL: 'C' } }).stdout.toString()
  } catch {
    return ''
  }
}

const field = (text: string, name: string): string | undefined =>
  new RegExp(`^${name}[:=]\\s*(.+)$`, 'm').exec(text)?.[1]

const systemName = (): string => {
  try {
    return field(readFileSync('/etc/os-release', 'utf8'), 'PRETTY_NAME')!.replaceAll('"', '')
  } catch {
    return platform()
  }
}

/** The lower limit for a durable write: the disk's time to write 4 KiB and sync. */
const syncTimes = (): { medianUs: number; worstUs: number } => {
  const file = openSync(join(temporaryDirectory(), 'sync'), 'w')
  const block = Buffer.alloc(4096, 1)
  const times = Array.from({ length: 200 }, () => {
    const started = performance.now()
    writeSync(file, block)
    fdatasyncSync(file)
    return (performance.now() - started) * 1000
  })
  closeSync(file)
  return { medianUs: median(times), worstUs: Math.max(...times) }
}

export const describeMachine = (): Record<string, string> => {
  const lscpu = output(['lscpu'])
  const model = field(lscpu, 'Model name') ?? cpus()[0]?.model ?? 'unknown'
  const [, fileSystem] = output(['df', '-T', temporaryDirectory()]).trim().split('\n').at(-1)!.split(/\s+/)
  const sync = syncTimes()
  return {
    processor: `${model} (${arch()}), ${availableParallelism()} cores`,
    memory: `${(totalmem() / 2 ** 30).toFixed(1)} GiB`,
    system: `${systemName()}, kernel ${release()}`,
    'file system': fileSystem ?? 'unknown',
    'write of 4 KiB and fdatasync': `median ${sync.medianUs.toFixed(0)} µs, worst of 200 ${sync.worstUs.toFixed(0)} µs`,
    'load before the start': loadavg()[0]!.toFixed(2),
  }
}

/** Reasons to doubt the figures, checked before the first measurement. */
export const doubts = (machine: Record<string, string>): string[] => {
  const found: string[] = []
  if (loadavg()[0]! > 0.3 * availableParallelism()) {
    found.push(`the machine is busy (load ${machine['load before the start']}): ratios hold better than figures`)
  }
  if (machine['file system'] === 'tmpfs') {
    found.push('stores are in memory (tmpfs), where a sync costs nothing: give --dir a real disk')
  }
  return found
}

export const describeVersions = (): Record<string, string> => {
  const { version } = JSON.parse(readFileSync(new URL('../packages/server/package.json', import.meta.url), 'utf8'))
  const commit = output(['git', '-C', import.meta.dir, 'rev-parse', '--short', 'HEAD']).trim()
  return {
    cubby: commit === '' ? version : `${version} (${commit})`,
    bun: Bun.version,
    wrk: wrkVersion() ?? 'not installed',
    ...peerVersions(),
  }
}
