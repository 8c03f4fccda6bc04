// Builds the package for npm in dist/, with its own package.json. The package.json in this folder is for the workspace,
// where Bun and TypeScript read the source. It is private so that nobody publishes it by mistake.

import { cp, mkdir, rm } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import manifest from './package.json' with { type: 'json' }

const here = import.meta.dir

/** One minified ES module with its source map. */
export const buildScript = async (outDir: string): Promise<void> => {
  await Bun.build({
    entrypoints: [join(here, 'src/index.ts')],
    outdir: outDir,
    target: 'browser',
    format: 'esm',
    minify: true,
    sourcemap: 'linked',
  })
}

/** A declaration file for each source file. */
export const buildTypes = async (outDir: string): Promise<void> => {
  const path = [join(here, '../../node_modules/.bin'), process.env.PATH].join(delimiter)
  const tsc = Bun.spawn(['tsc', '-p', here, '--outDir', outDir], {
    env: { ...process.env, PATH: path },
    stdout: 'pipe',
  })
  const [report, exitCode] = await Promise.all([new Response(tsc.stdout).text(), tsc.exited])
  if (exitCode !== 0) throw new Error(`tsc found errors in the client:\n${report}`)
  // tsc leaves `./wire.ts` in declarations, which compilers with other settings reject.
  for await (const name of new Bun.Glob('**/*.d.ts').scan(outDir)) {
    const file = Bun.file(join(outDir, name))
    await file.write((await file.text()).replace(/(from '\.[\w./-]*)\.ts'/g, "$1.js'"))
  }
}

const publishedManifest = () => {
  const { private: _, scripts, ...rest } = manifest
  return { ...rest, exports: { '.': { types: './index.d.ts', default: './index.js' } } }
}

export const build = async (outDir: string): Promise<void> => {
  await rm(outDir, { recursive: true, force: true })
  await mkdir(outDir, { recursive: true })
  await Promise.all([buildScript(outDir), buildTypes(outDir)])
  await Bun.write(join(outDir, 'package.json'), `${JSON.stringify(publishedManifest(), null, 2)}\n`)
  await cp(join(here, 'README.md'), join(outDir, 'README.md'))
  const licence = join(here, '../../LICENSE')
  if (await Bun.file(licence).exists()) await cp(licence, join(outDir, 'LICENSE'))
}

if (import.meta.main) await build(join(here, 'dist'))
