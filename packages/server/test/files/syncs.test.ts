import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { blobPath } from '../../src/core/files/blob-id.ts'
import { parseTrace, whyNoTrace } from '../crash/trace.ts'
import { makeTempDir, removeTempDir } from '../harness.ts'

// After a power cut a file whose bytes or name were not synced is not there, or is there without its bytes. A record that
// was committed would then refer to nothing.

setDefaultTimeout(120_000)

const script = fileURLToPath(new URL('./trace-steps.ts', import.meta.url))
const untraced = whyNoTrace()
const why = untraced === undefined ? '' : ` (skipped: ${untraced})`

describe.skipIf(untraced !== undefined)(`a directory of blobs, seen with strace${why}`, () => {
  let top: string
  let root: string
  let id: string
  let small: string[]
  /**
   * The calls that succeeded, in order: `mkdir P`, `write P`, `sync P`, `rename to P`, `link P`, `unlink P`, `rmdir P`,
   * `said …`.
   */
  let steps: string[] = []

  beforeAll(async () => {
    top = makeTempDir()
    root = join(top, 'new', 'files')
    const file = join(top, 'trace')
    const names = 'mkdir,mkdirat,rename,renameat,renameat2,link,linkat,unlink,unlinkat,rmdir'
    const calls = `trace=${names},fsync,fdatasync,write,pwrite64,writev,pwritev`
    const command = ['strace', '-f', '-y', '-s', '500', '-o', file, '-e', calls, process.execPath, script, root]
    const child = Bun.spawn(command, { stdout: 'pipe', stderr: 'pipe' })
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    if ((await child.exited) !== 0) throw new Error(stderr)
    id = /written (\w+)/.exec(stdout)![1]!
    small = [...stdout.matchAll(/small (\w+)/g)].map((match) => match[1]!)
    steps = parseTrace(readFileSync(file, 'utf8'))
      .filter(({ text }) => /= \d+$/.test(text))
      // Steps that must wait are ordered by their beginning, which is stricter than by their end: each step waits for the
      // last.
      .sort((a, b) => a.start - b.start)
      .flatMap(({ name, text }) => {
        const said = /^1<[^>]*>, "(.*?)\\n"/.exec(text)?.[1]
        if (said !== undefined) return [`said ${said}`]
        const open = /^\d+<([^>]*)>/.exec(text)?.[1]
        if (/write/.test(name)) return [`write ${open}`]
        if (/sync/.test(name)) return [`sync ${open}`]
        const path = [...text.matchAll(/"([^"]*)"/g)].at(-1)![1]
        const verb = text.includes('AT_REMOVEDIR') ? 'rmdir' : name.replace(/at2?$/, '')
        return [`${verb === 'rename' ? 'rename to' : verb} ${path}`]
      })
      .filter((step) => step.startsWith('said') || step.includes(top))
  })
  afterAll(() => removeTempDir(top))

  const between = (from: string | undefined, to: string): string[] =>
    steps.slice(from === undefined ? 0 : steps.indexOf(from) + 1, steps.indexOf(to))

  test('the mark: its directory, its bytes, its name', () => {
    const mark = join(root, 'cubby-files.mark')
    const part = `${mark}.${'00112233445566778899aabbccddeeff'.repeat(2)}.part`
    const withoutUuid = (step: string): string => step.replace(/\.[0-9a-f-]{36}\.part$/, '.part')
    expect(between(undefined, 'said marked').map(withoutUuid)).toEqual([
      `mkdir ${dirname(root)}`,
      `sync ${top}`,
      `mkdir ${root}`,
      `sync ${dirname(root)}`,
      `write ${part}`,
      `sync ${part}`,
      `link ${mark}`,
      `unlink ${part}`,
      `sync ${root}`,
    ])
  })

  test('a blob: its directories, its bytes, its name, and only then the answer', () => {
    const file = join(root, blobPath(id))
    const directory = dirname(file)
    expect(between('said marked', `said written ${id}`)).toEqual([
      `mkdir ${dirname(directory)}`,
      `sync ${root}`,
      `mkdir ${directory}`,
      `sync ${dirname(directory)}`,
      `write ${file}.part`,
      `write ${file}.part`,
      `sync ${file}.part`,
      `rename to ${file}`,
      `sync ${directory}`,
    ])
  })

  // The row is forgotten next. If the file came back after a power cut, nothing would ever remove it.
  test('a removal is synced, in the directory above if its own was removed', () => {
    const file = join(root, blobPath(id))
    const directory = dirname(file)
    expect(between(`said written ${id}`, 'said removed')).toEqual([
      `unlink ${file}`,
      `rmdir ${directory}`,
      `rmdir ${dirname(directory)}`,
      `sync ${root}`,
    ])
  })

  test('small blobs at the same time: the bytes, the name and the directory of each are synced before its answer', () => {
    expect(small).toHaveLength(5)
    for (const one of small) {
      const file = join(root, blobPath(one))
      const directory = dirname(file)
      const synced = steps.indexOf(`sync ${file}.part`)
      const named = steps.indexOf(`rename to ${file}`)
      const said = steps.indexOf(`said small ${one}`)
      const after = (step: string, from: number): number => steps.indexOf(step, from)
      expect(steps.indexOf(`write ${file}.part`)).toBeGreaterThanOrEqual(0)
      expect(synced).toBeGreaterThan(steps.lastIndexOf(`write ${file}.part`))
      expect(named).toBeGreaterThan(synced)
      const listed = after(`sync ${directory}`, named)
      expect(listed).toBeGreaterThan(named)
      expect(said).toBeGreaterThan(listed)
    }
    // They share the syncs of their directory.
    const directory = dirname(join(root, blobPath(small[0]!)))
    const syncs = steps.slice(steps.indexOf('said removed')).filter((step) => step === `sync ${directory}`)
    expect(syncs.length).toBeLessThan(small.length)
  })
})
