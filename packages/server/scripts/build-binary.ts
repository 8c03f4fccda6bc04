import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { bundle, threadFiles } from '../build.ts'
import manifest from '../package.json' with { type: 'json' }
import { fetchRuntime } from './binary/runtime.ts'
import { makeSbom } from './binary/sbom.ts'
import { compileTarget, fileNameOf, ownTarget, root, type Target, targets } from './binary/targets.ts'

// `npm run build:binary`: the server and all its commands as one executable that needs neither Node nor npm. In `dist`: the
// binaries, what is in them (`cubby.cdx.json`), the licences, and the checksums of all these.
//
//   npm run build:binary                                    for this machine
//   npm run build:binary -- --target linux-arm64            for another; may be repeated
//   npm run build:binary -- --all                           for all
//   npm run build:binary -- --out DIR                       elsewhere than in dist

const sbomName = 'cubby.cdx.json'
const licensesName = 'LICENSES.txt'
const sumsName = 'SHA256SUMS'

const usage = `npm run build:binary -- [--all | --target TARGET …] [--out DIR]
TARGET is one of ${targets.join(', ')}`

const parseTarget = (name: string): Target => {
  if ((targets as readonly string[]).includes(name)) return name as Target
  throw new Error(`"${name}" is not a target\n${usage}`)
}

/** The bundle of the npm package, but with its dependencies inside: all files are in one folder. */
const compile = async (bundleDir: string, target: Target, outDir: string): Promise<void> => {
  const names = ['main.js', ...threadFiles().map((file) => basename(file).replace(/\.ts$/, '.js'))]
  await Bun.build({
    entrypoints: names.map((name) => join(bundleDir, name)),
    target: 'bun',
    naming: '[name].[ext]',
    splitting: true,
    minify: { whitespace: true },
    compile: {
      target: compileTarget(target),
      // For this machine it is the Bun that runs this script, which npm has checked.
      executablePath: target === ownTarget() ? process.execPath : await fetchRuntime(target),
      outfile: join(outDir, fileNameOf(target)),
      // Nothing in the directory where it is called may change what it does.
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
    },
  })
}

const makeLicenses = (ofPackages: string): string => `Cubby ${manifest.version} (${manifest.license})

${readFileSync(join(root, 'LICENSE'), 'utf8').trim()}

${'-'.repeat(80)}

Bun ${manifest.dependencies.bun} (MIT)

Bun contains other libraries, some under the LGPL (JavaScriptCore, TinyCC):
https://bun.com/docs/project/license lists them and says how to relink Bun.

${'-'.repeat(80)}

${ofPackages}`

const hashFile = async (file: string): Promise<string> => {
  const hash = new Bun.CryptoHasher('sha256')
  for await (const chunk of Bun.file(file).stream()) hash.update(chunk)
  return hash.digest('hex')
}

/** The names of the files that it wrote into `outDir`. Binaries of an earlier build that are not in this one are removed. */
const buildBinaries = async (built: Target[], outDir: string): Promise<string[]> => {
  if (Bun.version !== manifest.dependencies.bun) {
    throw new Error(
      `this is Bun ${Bun.version}; the binary needs ${manifest.dependencies.bun}: run npm run build:binary`,
    )
  }
  const bundleDir = await mkdtemp(join(tmpdir(), 'cubby-bundle-'))
  try {
    // The names of chunks depend on their paths from the working directory. The same sources are to give the same binary.
    process.chdir(root)
    const packages = await bundle(bundleDir, [], { splitting: true, compact: true })
    await mkdir(outDir, { recursive: true })
    process.chdir(bundleDir)
    for (const target of targets) await rm(join(outDir, fileNameOf(target)), { force: true })
    for (const target of built) await compile(bundleDir, target, outDir)
    await Bun.write(join(outDir, sbomName), `${JSON.stringify(makeSbom(packages, built), null, 2)}\n`)
    const licenses = await Bun.file(join(bundleDir, licensesName)).text()
    await Bun.write(join(outDir, licensesName), makeLicenses(licenses))
  } finally {
    process.chdir(root)
    await rm(bundleDir, { recursive: true, force: true })
  }
  const names = [...built.map(fileNameOf), sbomName, licensesName].sort()
  const sums = await Promise.all(names.map(async (name) => `${await hashFile(join(outDir, name))}  ${name}\n`))
  await Bun.write(join(outDir, sumsName), sums.join(''))
  return [...names, sumsName]
}

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      all: { type: 'boolean', default: false },
      target: { type: 'string', multiple: true, default: [] },
      out: { type: 'string', default: join(root, 'dist') },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return console.log(usage)
  const named = values.target.map(parseTarget)
  const built = values.all ? [...targets] : named.length > 0 ? [...new Set(named)] : [ownTarget()]
  // npm runs scripts in the root of the repository, and sets the directory where it was called itself.
  const outDir = resolve(process.env.INIT_CWD ?? '.', values.out)
  for (const name of await buildBinaries(built, outDir)) {
    console.log(`${join(outDir, name)}  ${Bun.file(join(outDir, name)).size} bytes`)
  }
}

try {
  await main()
} catch (error) {
  console.error(`build:binary: ${(error as Error).message}`)
  process.exitCode = 1
}
