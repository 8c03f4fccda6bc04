// Builds the files of the console into one JSON file, console.json, which the server imports.

import { mkdir, rename } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'

const here = import.meta.dir

export interface BuiltConsole {
  /** The name of the first script. */
  script: string
  /** Scripts that the first one imports at once. */
  preloads: string[]
  style: string
  /** Texts by name. A name changes with its text. */
  files: Record<string, string>
}

export interface ConsoleBuild extends BuiltConsole {
  /** The files that are in the scripts, also those of other packages. */
  inputs: string[]
}

const nameOf = (text: string, ending: string): string =>
  `${new Bun.CryptoHasher('sha256').update(text).digest('hex').slice(0, 16)}.${ending}`

/**
 * Gives each script a name of its own. The scripts name each other, so a name has the hash of all of them: it changes if any
 * of them does.
 */
export const hashedNames = (texts: Map<string, string>): Map<string, { name: string; text: string }> => {
  const all = [...texts].sort().flat().join('\n')
  const names = new Map([...texts.keys()].map((bunName) => [bunName, nameOf(`${all}\n${bunName}`, 'js')]))
  const rename = (text: string): string =>
    [...names].reduce((renamed, [bunName, name]) => renamed.replaceAll(`"./${bunName}"`, `"./${name}"`), text)
  return new Map([...texts].map(([bunName, text]) => [bunName, { name: names.get(bunName)!, text: rename(text) }]))
}

/** The first script, and those that it imports when they are needed. */
const buildScripts = async (): Promise<Omit<ConsoleBuild, 'style'>> => {
  const { outputs, metafile } = await Bun.build({
    entrypoints: [join(here, 'src/main.tsx')],
    target: 'browser',
    format: 'esm',
    splitting: true,
    minify: true,
    metafile: true,
    // Otherwise NODE_ENV decides, and Bun calls the JSX functions for development.
    define: { 'process.env.NODE_ENV': '"production"' },
    jsx: { runtime: 'automatic', importSource: 'preact', development: false },
  })
  const texts = new Map(
    await Promise.all(outputs.map(async (output) => [basename(output.path), await output.text()] as const)),
  )
  const renamed = hashedNames(texts)
  const first = renamed.get(basename(outputs.find(({ kind }) => kind === 'entry-point')!.path))!
  const isStatic = ({ name }: { name: string }): boolean => new RegExp(`(?:from|import)"\\./${name}"`).test(first.text)
  return {
    script: first.name,
    preloads: [...renamed.values()].filter(isStatic).map(({ name }) => name),
    files: Object.fromEntries([...renamed.values()].map(({ name, text }) => [name, text])),
    inputs: Object.keys(metafile!.inputs).map((path) => resolve(path)),
  }
}

/** Builds the style with the files that it imports. */
const buildStyle = async (): Promise<string> => {
  const { outputs } = await Bun.build({ entrypoints: [join(here, 'src/style/main.css')], minify: true })
  if (outputs.length !== 1) throw new Error(`the style has ${outputs.length} files; the server serves one`)
  return outputs[0]!.text()
}

/** Writes console.json. Renamed into place: a server that starts meanwhile never reads half a file. */
export const buildConsole = async (outDir: string): Promise<ConsoleBuild> => {
  const [{ inputs, ...scripts }, styleText] = await Promise.all([buildScripts(), buildStyle()])
  const style = nameOf(styleText, 'css')
  const built: BuiltConsole = { ...scripts, style, files: { ...scripts.files, [style]: styleText } }
  const unfinished = join(outDir, `console.json.${process.pid}`)
  await mkdir(outDir, { recursive: true })
  await Bun.write(unfinished, JSON.stringify(built))
  await rename(unfinished, join(outDir, 'console.json'))
  return { ...built, inputs }
}

if (import.meta.main) {
  const { script, preloads, style, files } = await buildConsole(join(here, 'dist'))
  for (const [name, text] of Object.entries(files)) {
    const bytes = Bun.gzipSync(Buffer.from(text), { level: 9 }).length
    const when = [script, style, ...preloads].includes(name) ? 'at first' : 'when it is needed'
    console.log(`${name}  ${bytes} bytes gzipped, loaded ${when}`)
  }
}
