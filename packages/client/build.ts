// Builds what the npm package has, in dist/. `npm pack` runs this, and so does prepare.mjs.

import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'

const here = import.meta.dir

/**
 * One minified ES module with its source map. Lines stay: Node prints the source line of an uncaught error, and a module of
 * one line would fill the terminal.
 */
export const buildScript = async (outDir: string): Promise<void> => {
  await Bun.build({
    entrypoints: [join(here, 'src/index.ts')],
    outdir: outDir,
    target: 'browser',
    format: 'esm',
    minify: { syntax: true, identifiers: true },
    sourcemap: 'linked',
  })
  // Bun writes comments into the module, such as the paths of source files. The empty lines keep the source map right.
  const script = Bun.file(join(outDir, 'index.js'))
  await script.write((await script.text()).replace(/^\/\/(?!# sourceMapping).*$/gm, ''))
}

/** A declaration file for each source file. */
export const buildTypes = async (outDir: string): Promise<void> => {
  const tsc = Bun.spawn([join(here, '../../node_modules/.bin/tsc'), '-p', here, '--outDir', outDir], { stdout: 'pipe' })
  const [report, exitCode] = await Promise.all([new Response(tsc.stdout).text(), tsc.exited])
  if (exitCode !== 0) throw new Error(`tsc found errors in the client:\n${report}`)
  // tsc leaves `./wire.ts` in declarations, which compilers with other settings reject.
  for await (const name of new Bun.Glob('**/*.d.ts').scan(outDir)) {
    const file = Bun.file(join(outDir, name))
    await file.write((await file.text()).replace(/(from '\.[\w./-]*)\.ts'/g, "$1.js'"))
  }
}

export const build = async (outDir: string): Promise<void> => {
  await rm(outDir, { recursive: true, force: true })
  await Promise.all([buildScript(outDir), buildTypes(outDir)])
}

if (import.meta.main) {
  await build(join(here, 'dist'))
  // npm takes only the licence that is in the folder of the package.
  await cp(join(here, '../../LICENSE'), join(here, 'LICENSE'))
}
