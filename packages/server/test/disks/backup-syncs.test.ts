import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { mainFile } from '../cli/serve-process.ts'
import { parseTrace, whyNoTrace } from '../crash/trace.ts'
import { makeTempDir, removeTempDir, runCubbyJson, storeIsEmbedded } from '../harness.ts'

// If a backup is not synced before it gets its name, a power cut can leave a file of zeros with that name. If its directory is
// not synced, the file can be gone.

setDefaultTimeout(120_000)

const reason = storeIsEmbedded() ? whyNoTrace() : 'the store is a server of its own'
if (reason !== undefined) console.log(`tests of what a backup syncs are skipped: ${reason}`)

const writing = ['write', 'writev', 'pwrite64', 'pwritev', 'ftruncate', 'copy_file_range', 'sendfile', 'ioctl']
const syncing = ['fsync', 'fdatasync']
const calls = [...writing, ...syncing, '?rename', 'renameat', 'renameat2'].join(',')

/** Lists the syncs around the rename of `${file}.tmp` to `file`. */
const syncsOf = (trace: string, file: string) => {
  const all = parseTrace(trace)
  const of = (names: string[], path: string) =>
    all.filter((call) => names.includes(call.name) && call.text.includes(`<${path}>`) && /= \d+/.test(call.text))
  const renamed = all.find((call) => call.name.startsWith('rename') && call.text.includes(`"${file}.tmp", `))
  const lastWrite = Math.max(...of(writing, `${file}.tmp`).map((call) => call.end))
  return {
    wasWritten: lastWrite > 0,
    fileSynced: of(syncing, `${file}.tmp`).some((call) => call.start > lastWrite && call.end < renamed!.start),
    directorySynced: of(syncing, dirname(file)).some((call) => call.start > renamed!.end),
  }
}

describe.skipIf(reason !== undefined)('a backup', () => {
  test('and a restored store are synced before they have their names, and their names after', async () => {
    const dir = makeTempDir()
    try {
      const data = join(dir, 'data')
      await runCubbyJson(data, ['orgs', 'create', 'acme'])
      const traced = async (name: string, ...args: string[]): Promise<string> => {
        const file = join(dir, name)
        const strace = ['strace', '-f', '-y', '-o', file, '-e', `trace=${calls}`]
        const child = Bun.spawn([...strace, process.execPath, mainFile, ...args], { stdout: 'pipe', stderr: 'pipe' })
        expect({ exit: await child.exited, stderr: await child.stderr.text() }).toEqual({ exit: 0, stderr: '' })
        return readFileSync(file, 'utf8')
      }
      const all = { wasWritten: true, fileSynced: true, directorySynced: true }
      mkdirSync(join(dir, 'backups'))
      const backup = join(dir, 'backups', 'first')
      const restored = join(dir, 'restored')
      expect(syncsOf(await traced('1', 'backup', 'create', backup, '--data', data), backup)).toEqual(all)
      const store = join(restored, 'cubby.db')
      expect(syncsOf(await traced('2', 'backup', 'restore', backup, '--data', restored), store)).toEqual(all)
    } finally {
      removeTempDir(dir)
    }
  })
})
