// Builds what the npm package has, in dist/. `npm pack` runs this, and so does prepare.mjs.

import { cp, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { breakLines } from './build-lines.ts'

const here = import.meta.dir

/** What a program may import: `@cubbydb/client`, and `/changes`, `/load`, `/worker` and `/webhooks` below it. */
const entries = ['index', 'changes', 'load', 'worker', 'webhooks']

/** An import of one entry point by another stays an import, so that no class is there twice. */
const keepEntriesApart: Bun.BunPlugin = {
  name: 'entries',
  setup: (builder) => {
    builder.onResolve({ filter: new RegExp(`^\\.{1,2}/(${entries.join('|')})\\.ts$`) }, ({ path, kind }) =>
      kind === 'entry-point-build' ? undefined : { path: `./${basename(path, '.ts')}.js`, external: true },
    )
  },
}

/**
 * A minified ES module with its source map for each entry point. Its lines are short: Node prints the source line of an
 * uncaught error, and a module of one line would fill the terminal.
 */
export const buildScript = async (outDir: string): Promise<void> => {
  const { outputs } = await Bun.build({
    entrypoints: entries.map((name) => join(here, `src/${name}.ts`)),
    target: 'browser',
    format: 'esm',
    minify: true,
    sourcemap: 'external',
    plugins: [keepEntriesApart],
  })
  await Promise.all(
    entries.map(async (name) => {
      const named = (file: string) => outputs.find(({ path }) => basename(path) === file)!
      const [text, map] = await Promise.all([named(`${name}.js`).text(), named(`${name}.js.map`).json()])
      // The last line is a comment of Bun's.
      const { script, mappings } = breakLines(text.split('\n', 1)[0]!, map.mappings)
      await Promise.all([
        Bun.write(join(outDir, `${name}.js`), `${script}\n//# sourceMappingURL=${name}.js.map\n`),
        Bun.write(join(outDir, `${name}.js.map`), JSON.stringify({ ...map, mappings, debugId: undefined })),
      ])
    }),
  )
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
