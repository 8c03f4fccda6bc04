import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

// Readers trust ARCHITECTURE.md. Without these tests it would be true only on the day it was written.

const root = resolve(import.meta.dir, '../../..')
const source = join(root, 'packages/server/src')
const architecture = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')

/** The text from a heading to the next one of its level or above. */
const section = (heading: string): string => {
  const [, text] = architecture.split(`\n## ${heading}\n`)
  if (text === undefined) throw new Error(`ARCHITECTURE.md has no section "${heading}"`)
  return text.split('\n## ')[0]!
}

/** Rows of the first table in `text`, its head included and the line below it left out. */
const tableRows = (text: string): string[][] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('|') && !/^\|[-|\s]+$/.test(line))
    .map((line) => line.split('|').slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()))

const codeSpans = (text: string): string[] => Array.from(text.matchAll(/`([^`\n]+)`/g), ([, code]) => code!)

const sourceFiles = (): string[] =>
  readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(source, name))

/** The statements that make another file part of this one: imports, of types too, and the files of threads. */
const importsOf = (file: string): string[] => {
  const text = readFileSync(file, 'utf8')
  const patterns = [
    /^(?:import|export)\b[^'"`;]*?\bfrom '([^']+)'/gm,
    /^import '([^']+)'/gm,
    /\bimport\('([^']+)'\)/g,
    /new URL\('([^']+)', import\.meta\.url\)/g,
  ]
  return patterns.flatMap((pattern) => Array.from(text.matchAll(pattern), ([, name]) => name!))
}

/** The first step below `src`: a folder, or a file such as main.ts. */
const partOf = (file: string): string => relative(source, file).split('/')[0]!

interface Import {
  from: string
  /** Relative to the source folder; undefined for a package. */
  file: string | undefined
  name: string
}

const imports: Import[] = sourceFiles().flatMap((path) =>
  importsOf(path).map((name) => ({
    from: relative(source, path),
    file: name.startsWith('.') ? relative(source, resolve(dirname(path), name)) : undefined,
    name,
  })),
)

const parseImportTable = () => {
  const [head, ...rows] = tableRows(section('Who may import whom'))
  const folders = head!.slice(1, -1).map((cell) => codeSpans(cell)[0]!)
  const pairs = new Set<string>()
  const packages = new Set<string>()
  for (const [first, ...cells] of rows) {
    const from = codeSpans(first!)[0]!
    cells.slice(0, -1).forEach((cell, i) => {
      if (cell !== '' && cell !== 'yes') throw new Error(`the table says "${cell}" for ${from} and ${folders[i]}`)
      if (cell === 'yes') pairs.add(`${from} → ${folders[i]}`)
    })
    for (const name of codeSpans(cells.at(-1)!)) packages.add(`${from} → ${name}`)
  }
  return { parts: rows.map(([first]) => codeSpans(first!)[0]!), pairs, packages }
}

describe('who may import whom', () => {
  const table = parseImportTable()

  test('the table has a row for each part of the source', () => {
    expect(readdirSync(source).sort()).toEqual(table.parts.sort())
  })

  test('every import between parts is allowed, and every allowed pair is needed', () => {
    const found = new Map<string, string>()
    for (const { from, file } of imports) {
      // The pages of docs/ are imported as text.
      if (file === undefined || file === '../package.json' || /^(\.\.\/){3}docs\/[a-z-]+\.md$/.test(file)) continue
      const to = partOf(join(source, file))
      if (partOf(join(source, from)) !== to) found.set(`${partOf(join(source, from))} → ${to}`, from)
    }
    const forbidden = [...found].filter(([pair]) => !table.pairs.has(pair)).map(([pair, by]) => `${pair}, by ${by}`)
    expect({ forbidden, unused: [...table.pairs].filter((pair) => !found.has(pair)) }).toEqual({
      forbidden: [],
      unused: [],
    })
  })

  test('every package that is imported is allowed, and every allowed one is needed', () => {
    const found = new Set<string>()
    for (const { from, file, name } of imports) {
      if (file === undefined && !name.startsWith('node:')) found.add(`${partOf(join(source, from))} → ${name}`)
    }
    expect([...found].sort()).toEqual([...table.packages].sort())
  })

  // Two files that import each other cannot be understood, tested or moved one without the other; a type is no exception.
  test('no file imports itself by way of others', () => {
    const next = new Map<string, string[]>()
    for (const { from, file } of imports) if (file !== undefined) next.set(from, [...(next.get(from) ?? []), file])
    const done = new Set<string>()
    const circles: string[] = []
    const visit = (file: string, path: string[]): void => {
      if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' → '))
      if (done.has(file)) return
      done.add(file)
      for (const imported of next.get(file) ?? []) visit(imported, [...path, file])
    }
    for (const file of next.keys()) visit(file, [])
    expect(circles).toEqual([])
  })

  // An engine can then be added, or taken away, without a change to the rest.
  test('outside of engines/ only engines/open-engine.ts is imported from there, and it alone imports engines', () => {
    const isEngine = (file: string | undefined): boolean => /^engines\/[^/]+\//.test(file ?? '')
    const importers = imports.filter(({ from, file }) => !isEngine(from) && isEngine(file)).map(({ from }) => from)
    expect([...new Set(importers)]).toEqual(['engines/open-engine.ts'])
    const fromOutside = imports.filter(
      ({ from, file }) => partOf(join(source, from)) !== 'engines' && file?.startsWith('engines/'),
    )
    expect([...new Set(fromOutside.map(({ file }) => file))]).toEqual(['engines/open-engine.ts'])
  })

  test('no engine imports another', () => {
    const engineOf = (file: string): string | undefined => /^engines\/([^/]+)\//.exec(file)?.[1]
    const crossing = imports.filter(
      ({ from, file }) =>
        engineOf(from) !== undefined && engineOf(file ?? '') !== undefined && engineOf(from) !== engineOf(file!),
    )
    expect(crossing).toEqual([])
  })

  test('imports are found: each file of threads, types and values', () => {
    const by = (from: string) => imports.filter((entry) => entry.from === from).map((entry) => entry.file)
    expect(by('engines/sqlite/write/thread-write-channel.ts')).toContain('engines/sqlite/write/writer-thread.ts')
    expect(by('http/exchange.ts').sort()).toEqual([
      'core/awaitable.ts',
      'core/slices.ts',
      'http/feeds.ts',
      'http/file-body.ts',
      'http/keyed-request.ts',
      'http/loads.ts',
      'http/response-bodies.ts',
      'http/upload-body.ts',
      'http/uploads.ts',
      'operations/access.ts',
      'store/api-keys.ts',
      'store/engine.ts',
    ])
    expect(by('main.ts').sort()).toEqual(['cli/print.ts', 'cli/run.ts'])
  })
})

describe('the map', () => {
  const folders = tableRows(section('The map'))
    .slice(1)
    .map(([first]) => codeSpans(first!)[0]!)

  test('every folder on the map exists', () => {
    expect(folders.filter((folder) => !existsSync(join(root, folder)))).toEqual([])
  })

  test('every folder of the repository and of the source is on the map', () => {
    const made = ['node_modules', 'packages', 'cubby-data', 'coverage', 'dist']
    const inside = (dir: string): string[] =>
      readdirSync(join(root, dir), { withFileTypes: true })
        .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !made.includes(entry.name))
        .map((entry) => relative(root, join(root, dir, entry.name)))
    const found = ['.', 'packages', 'packages/server/src', 'packages/server/src/engines'].flatMap(inside)
    expect(found.filter((folder) => !folders.includes(folder))).toEqual([])
  })
})

describe('what the documents name', () => {
  const documents = ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs/http-api.md', 'docs/reference.md']

  test('every file exists', () => {
    const places = [root, source, join(root, 'packages/server'), join(root, 'packages/server/test')]
    const missing = documents.flatMap((document) =>
      codeSpans(readFileSync(join(root, document), 'utf8'))
        // With a slash in front it is a path of the API: `/openapi.json`.
        .filter((code) => /^[\w@.][\w@./-]*\.(ts|json|md)$/.test(code))
        .filter((code) => !places.some((place) => existsSync(join(place, code))))
        .map((code) => `${document}: ${code}`),
    )
    expect(missing).toEqual([])
  })

  test('every function and field that ARCHITECTURE.md names is in the source', () => {
    const text = sourceFiles()
      .map((file) => readFileSync(file, 'utf8'))
      .join('\n')
    const names = codeSpans(architecture).filter((code) => /^#?[a-z]+[A-Z]\w*$/.test(code))
    expect(names.length).toBeGreaterThan(5)
    expect(names.filter((name) => !text.includes(name))).toEqual([])
  })
})
