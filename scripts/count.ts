// Counts files and lines of code of the three packages: `bun scripts/count.ts [DIR] [--small] [--exports]`. DIR is the root of
// another checkout. A line of code is not blank and not only comment. Scripts and styles in `src` count; Markdown, JSON and
// images do not. `--small` and `--exports` list what may be folded into another file or made private; both are hints, since
// a name is found by its text.

import { readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'

const smallLinesMax = 25
const packageEntries = new Map([
  ['@cubbydb/client', 'packages/client/src/index.ts'],
  ['@cubbydb/client/changes', 'packages/client/src/changes.ts'],
  ['@cubbydb/client/load', 'packages/client/src/load.ts'],
  ['@cubbydb/client/worker', 'packages/client/src/worker.ts'],
  ['@cubbydb/client/webhooks', 'packages/client/src/webhooks.ts'],
])

/** A comment (in JSX with its braces), a string, a word, or one character. Quotes in the text of JSX may have no partner. */
const piece =
  /(?<comment>\{\/\*(?:(?!\*\/)[\s\S])*\*\/\}|\/\*[\s\S]*?\*\/|\/\/.*)|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|[\w$]+|=>|\s+|[\s\S]/y
const regularExpression = /\/(?!\*)(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/\w*/y
const beforeRegularExpression = /^(?:|[(,=:[!&|?{;+*%~^-]|=>|\$\{|return|typeof|case)$/
const templateText = /(?:\\[\s\S]|\$(?!\{)|[^\\`$])*(?<end>`|\$\{)/y

const matchAt = (pattern: RegExp, text: string, at: number): RegExpExecArray | null => {
  pattern.lastIndex = at
  return pattern.exec(text)
}

/** The same lines, with spaces in place of comments. */
const withoutComments = (text: string): string => {
  let code = ''
  let last = ''
  let isTemplate = false
  /** The braces that are open here. A `${` leads back into its template. */
  const open: string[] = []
  while (code.length < text.length) {
    const pattern = isTemplate ? templateText : piece
    const mayBeRegular = !isTemplate && beforeRegularExpression.test(last)
    const regular = mayBeRegular ? matchAt(regularExpression, text, code.length) : null
    const match: RegExpExecArray = regular ?? matchAt(pattern, text, code.length)!
    const { 0: found, groups } = match
    const isComment = groups?.comment !== undefined
    code += isComment ? found.replace(/[^\n]/g, ' ') : found
    if (isComment || found.trim() === '') continue
    last = groups?.end ?? found
    isTemplate = (found === '`' && !isTemplate) || (found === '}' && open.at(-1) === '${')
    if (last === '{' || last === '${') open.push(last)
    if (last === '}') open.pop()
  }
  return code
}

interface Import {
  path: string
  /** `*` stands for all of them. */
  names: string[]
}

const namesIn = (clause: string): string[] => {
  if (clause.includes('*')) return ['*']
  const [before = '', inside = ''] = clause.replace(/^\s*type\s/, '').split(/[{}]/)
  const listed = inside.split(',').map((name) => name.trim().replace(/^type\s+/, ''))
  const names = listed.map((name) => name.split(/\s+as\s+/)[0]!)
  return [before.replace(',', '').trim() && 'default', ...names].filter((name) => name !== '')
}

const resolveImport = (from: string, name: string): string =>
  packageEntries.get(name) ?? (name.startsWith('.') ? normalize(join(dirname(from), name)) : name)

const importsOf = (path: string, code: string): Import[] => [
  ...Array.from(code.matchAll(/^(?:import|export)\b([^'"`;()=]*?)\bfrom\s+'([^']+)'/gm), ([, clause, name]) => ({
    path: resolveImport(path, name!),
    names: namesIn(clause!),
  })),
  // A whole module: imported for its effects or when it is needed, or the file of a thread.
  ...Array.from(
    code.matchAll(/^import '([^']+)'|\bimport\('([^']+)'\)|new URL\('([^']+)', import\.meta\.url/gm),
    (found) => ({
      path: resolveImport(path, found.slice(1).find((name) => name !== undefined)!),
      names: ['*'],
    }),
  ),
]

const exportsOf = (code: string): string[] => [
  ...Array.from(
    code.matchAll(/^export (?:abstract |async |declare )*(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm),
    ([, name]) => name!,
  ),
  ...Array.from(code.matchAll(/^export (?:type )?\{([^}]*)\}(?!\s*from)/gm), ([, list]) => namesIn(`{${list}}`)).flat(),
]

interface SourceFile {
  path: string
  /** The code without comments. */
  code: string
  lines: number
  imports: Import[]
}

const readSource = (root: string, path: string): SourceFile => {
  const text = readFileSync(join(root, path), 'utf8')
  const isStyle = path.endsWith('.css')
  const code = isStyle
    ? text.replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '))
    : withoutComments(text)
  const lines = code.split('\n').filter((line) => line.trim() !== '').length
  return { path, code, lines, imports: isStyle ? [] : importsOf(path, code) }
}

const isTest = (path: string): boolean => /\/test\/|\.test\.ts$/.test(path)
const isCounted = (path: string): boolean => /^packages\/(?:server|client|console)\/src\//.test(path)

const readAll = (root: string): SourceFile[] =>
  [...new Bun.Glob('{packages,bench,examples,scripts}/**/*.{ts,tsx,js,css}').scanSync(root)]
    .filter((path) => !/(?:^|\/)(?:node_modules|dist|fixtures|stores\/[^/]+\/server)\//.test(path))
    .sort()
    .map((path) => readSource(root, path))

const printCounts = (files: SourceFile[]): void => {
  const counts = new Map<string, { files: number; lines: number }>()
  for (const { path, lines } of files) {
    const [, packageName, , ...rest] = path.split('/')
    // The name of a folder sorts behind that of its package.
    const folder = `${packageName}/${rest.length > 1 ? rest[0] : '(its own files)'}`
    for (const name of [packageName!, folder, '~total']) {
      const count = counts.get(name) ?? { files: 0, lines: 0 }
      counts.set(name, { files: count.files + 1, lines: count.lines + lines })
    }
  }
  const row = (name: string, files: string, lines: string) =>
    console.log(name.padEnd(28) + files.padStart(8) + lines.padStart(10))
  row('', 'files', 'lines')
  for (const name of [...counts.keys()].sort()) {
    const count = counts.get(name)!
    row(name.replace(/^\w+\//, '  ').replace('~', ''), `${count.files}`, `${count.lines}`)
  }
}

const printSmall = (files: SourceFile[], all: SourceFile[]): void => {
  console.log(`\nFiles of ${smallLinesMax} lines or fewer whose one importer is in the same folder:`)
  for (const { path, lines } of files.filter(({ lines }) => lines <= smallLinesMax)) {
    const importers = all.filter(({ imports }) => imports.some((entry) => entry.path === path))
    const [importer, ...others] = importers.filter((file) => !isTest(file.path))
    if (importer === undefined || others.length > 0 || dirname(importer.path) !== dirname(path)) continue
    const tests = importers.length - 1
    console.log(`${path} (${lines}) → ${basename(importer.path)}${tests > 0 ? `, and ${tests} of the tests` : ''}`)
  }
}

const printExports = (files: SourceFile[], all: SourceFile[]): void => {
  const users = new Map<string, Set<'code' | 'test'>>()
  for (const { path, imports } of all) {
    for (const { path: imported, names } of imports) {
      for (const name of names) {
        const key = `${imported} ${name}`
        users.set(key, (users.get(key) ?? new Set()).add(isTest(path) ? 'test' : 'code'))
      }
    }
  }
  const found = files
    .filter(({ path }) => ![...packageEntries.values()].includes(path) && !path.endsWith('.d.ts'))
    .flatMap(({ path, code }) =>
      exportsOf(code).map((name) => {
        const by = new Set([...(users.get(`${path} ${name}`) ?? []), ...(users.get(`${path} *`) ?? [])])
        const isUsedInside = [...code.matchAll(new RegExp(`\\b${name}\\b`, 'g'))].length > 1
        return { by, text: `${path}: ${name}${isUsedInside ? '' : ' (not used there either)'}` }
      }),
    )
  console.log('\nExports that only their own file uses:')
  for (const { by, text } of found) if (by.size === 0) console.log(text)
  console.log('\nExports that only tests use:')
  for (const { by, text } of found) if (by.size === 1 && by.has('test')) console.log(text)
}

const args = process.argv.slice(2)
const all = readAll(args.find((arg) => !arg.startsWith('--')) ?? join(import.meta.dir, '..'))
const counted = all.filter(({ path }) => isCounted(path))
printCounts(counted)
if (args.includes('--small')) printSmall(counted, all)
if (args.includes('--exports')) printExports(counted, all)
