import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildConsole, hashedNames } from '../build.ts'

const gzippedBytes = (text: string): number => Bun.gzipSync(Buffer.from(text), { level: 6 }).length

test('the first load is at most 60 kB of script and 12 kB of style, gzipped', async () => {
  const outDir = mkdtempSync(join(tmpdir(), 'cubby-console-'))
  try {
    const { script, preloads, style, files } = await buildConsole(outDir)
    const scripts = [script, ...preloads].map((name) => gzippedBytes(files[name]!))
    const scriptBytes = scripts.reduce((sum, bytes) => sum + bytes, 0)
    expect(scriptBytes).toBeGreaterThan(10_000)
    expect(scriptBytes).toBeLessThanOrEqual(60_000)
    expect(gzippedBytes(files[style]!)).toBeLessThanOrEqual(12_000)
    expect(files[style]).not.toMatch(/url\(|@import/)
    // What follows a table is loaded for tables that can be followed.
    const live = Object.entries(files).filter(([, text]) => text.includes('text/event-stream'))
    expect(live).toHaveLength(1)
    expect([script, ...preloads]).not.toContain(live[0]![0])
    expect(gzippedBytes(live[0]![1])).toBeLessThanOrEqual(8_000)
    // Every file that a script names is there.
    for (const text of Object.values(files)) {
      for (const [, name] of text.matchAll(/["']\.\/([0-9a-z-]+\.js)["']/g)) expect(Object.keys(files)).toContain(name!)
    }
  } finally {
    rmSync(outDir, { recursive: true })
  }
})

test('the names of the scripts change with any of their texts, and scripts name each other by them', () => {
  const before = hashedNames(
    new Map([
      ['main.js', 'import("./part.js")'],
      ['part.js', 'import{a}from"./main.js"'],
    ]),
  )
  const after = hashedNames(
    new Map([
      ['main.js', 'import("./part.js")'],
      ['part.js', 'import{b}from"./main.js"'],
    ]),
  )
  const names = [before, after].flatMap((files) => [...files.values()].map(({ name }) => name))
  expect(new Set(names).size).toBe(4)
  expect(before.get('main.js')!.text).toBe(`import("./${before.get('part.js')!.name}")`)
  expect(after.get('part.js')!.text).toBe(`import{b}from"./${after.get('main.js')!.name}"`)
})
