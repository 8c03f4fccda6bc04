import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import packageJson from '../package.json' with { type: 'json' }
import { eventually, makeTempDir, removeTempDir } from './harness.ts'

// A newcomer has Node and an empty directory. What works only beside this repository, or only where Bun is on the path, is
// found here: the packages are made and installed as a user installs them.

const barMs = 120_000
setDefaultTimeout(barMs + 60_000)

const root = resolve(import.meta.dir, '../../..')
const clientFolder = join(root, 'packages/client')
const tarballs = { server: `cubbydb-${packageJson.version}.tgz`, client: `cubbydb-client-${packageJson.version}.tgz` }

let dir: string
let env: Record<string, string>

const within = (...names: string[]): string => join(dir, ...names)

interface Ended {
  exitCode: number
  stdout: string
  stderr: string
}

const run = async (command: string[], cwd: string, own: Record<string, string> = {}): Promise<Ended> => {
  const child = Bun.spawn(command, { cwd, env: { ...env, ...own }, stdin: 'ignore', stderr: 'pipe', timeout: barMs })
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { exitCode: await child.exited, stdout, stderr }
}

const networkCodes = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT|E50\d)\b/

/** Fails with a sentence of its own if npm got nothing from the registry: then nothing is wrong with the packages. */
const install = async (cwd: string, ...what: string[]): Promise<void> => {
  mkdirSync(cwd, { recursive: true })
  const started = performance.now()
  const { exitCode, stderr } = await run(['npm', 'install', ...what], cwd)
  if (exitCode === 0) return
  const noNetwork = networkCodes.test(stderr) || performance.now() - started > barMs
  const why = noNetwork
    ? 'the npm registry cannot be reached, and the cache of npm does not have bun and pg'
    : 'npm failed'
  throw new Error(`${why}:\n${stderr}`)
}

/** The commands that a machine with Node has. All of this machine's would include Bun, which npm puts on the path. */
const makeNodePath = (folder: string): string => {
  mkdirSync(folder)
  for (const name of ['node', 'npm', 'npx', 'sh', 'dirname', 'readlink'])
    symlinkSync(Bun.which(name)!, join(folder, name))
  return folder
}

/** The setting of the user who runs the tests, whose registry may be another one. */
const npmSetting = async (name: string): Promise<string> =>
  (await Bun.$`npm config get ${name}`.cwd(root).quiet().text()).trim()

beforeAll(async () => {
  dir = makeTempDir()
  mkdirSync(within('home'))
  // The downloads of this machine, but not the folder beside them where npx installs packages.
  mkdirSync(within('cache'))
  const downloads = join(await npmSetting('cache'), '_cacache')
  if (existsSync(downloads)) symlinkSync(downloads, within('cache/_cacache'))
  env = {
    PATH: makeNodePath(within('bin')),
    HOME: within('home'),
    npm_config_cache: within('cache'),
    npm_config_userconfig: await npmSetting('userconfig'),
    npm_config_prefer_offline: 'true',
    npm_config_fetch_timeout: '20000',
    npm_config_fetch_retries: '1',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_update_notifier: 'false',
  }
  await Bun.$`npm pack -w packages/client -w packages/server --pack-destination ${dir}`.cwd(root).quiet()
})
afterAll(() => removeTempDir(dir))

const filesIn = async (tarball: string): Promise<string[]> => {
  const names = (await Bun.$`tar -tzf ${within(tarball)}`.text()).trim().split('\n')
  return names.map((name) => name.replace('package/', '')).sort()
}

describe('the package of the server', () => {
  test('has the program, a README and the licence, and nothing else', async () => {
    const names = await filesIn(tarballs.server)
    const program = names.filter((name) => name.startsWith('dist/'))
    expect(program).toEqual(
      expect.arrayContaining(['dist/checkpoint-thread.js', 'dist/main.js', 'dist/writer-thread.js']),
    )
    expect(program.filter((name) => name.endsWith('.ts'))).toEqual([])
    const rest = names.filter((name) => !program.includes(name))
    expect(rest).toEqual(['LICENSE', 'README.md', 'bin/bunfig.toml', 'bin/cubby', 'package.json'])
    console.log(`${tarballs.server}: ${names.length} files, ${Bun.file(within(tarballs.server)).size} bytes`)
  })

  test('has the licences of what is in the script of the console', async () => {
    const licenses = await Bun.$`tar -xzOf ${within(tarballs.server)} package/dist/LICENSES.txt`.text()
    const packages = Array.from(licenses.matchAll(/^(\S+) \d+\.\d+\.\d+ \(MIT\)$/gm), ([, name]) => name)
    expect(packages).toEqual(['@preact/signals', '@preact/signals-core', 'preact'])
  })

  // The client is in the bundle. While it is not published, a dependency on it fails with E404.
  test('depends on exact versions, and not on the client', () => {
    expect(Object.keys(packageJson.dependencies)).not.toContain('@cubbydb/client')
    for (const version of Object.values(packageJson.dependencies)) expect(version).toMatch(/^\d+\.\d+\.\d+$/)
  })
})

test('the package of the client has the modules, their maps, declarations, a README and the licence', async () => {
  const names = await filesIn(tarballs.client)
  expect(names.filter((name) => !name.endsWith('.d.ts'))).toEqual([
    'LICENSE',
    'README.md',
    'dist/changes.js',
    'dist/changes.js.map',
    'dist/index.js',
    'dist/index.js.map',
    'dist/load.js',
    'dist/load.js.map',
    'dist/webhooks.js',
    'dist/webhooks.js.map',
    'dist/worker.js',
    'dist/worker.js.map',
    'package.json',
  ])
})

/** The program of a newcomer: the first record, and two mistakes. */
const firstRecord = `
import { Cubby, CubbyError, SaveError } from '@cubbydb/client'

const { CUBBY_URL: url, CUBBY_KEY: key } = process.env
const app = new Cubby({ url, key }).db('app')
await app.tables.create('notes')
const notes = app.table('notes')
await notes.save({ hashKey: 'first', data: { text: 'hello' } })
console.log((await notes.findOne('first')).data.text)

for (const options of [{ url: 'localhost:4600', key }, { url }, { url, key: key + 'x' }]) {
  try {
    new Cubby(options)
  } catch (error) {
    console.log(error instanceof CubbyError, error.name, error.constructor.name, error.code, error.field)
  }
}
console.log(Cubby.name, SaveError.name, notes.constructor.name)
`

const itsOutput = `hello
true CubbyError CubbyError invalid_request url
true CubbyError CubbyError missing_api_key key
true CubbyError CubbyError invalid_api_key key
Cubby SaveError Table
`

/** The serving process itself: npx and the shell between do not pass a SIGTERM on. */
const serverBelow = (pid: number): number => {
  if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('dist/main.js')) return pid
  const child = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]
  return child ? serverBelow(Number(child)) : pid
}

/** `npx cubbydb serve …` in a directory where the package is installed, until it listens. */
const startServing = async (cwd: string, ...args: string[]) => {
  const child = Bun.spawn(['npx', 'cubbydb', 'serve', '--port', '0', ...args], { cwd, env, stderr: 'pipe' })
  let [stdout, log] = ['', '']
  const follow = async (stream: ReadableStream<Uint8Array>, take: (text: string) => void) => {
    const decoder = new TextDecoder()
    for await (const chunk of stream) take(decoder.decode(chunk, { stream: true }))
  }
  const followed = Promise.all([
    follow(child.stdout, (text) => {
      stdout += text
    }),
    follow(child.stderr, (text) => {
      log += text
    }),
  ])
  const stop = async (signal: NodeJS.Signals) => {
    process.kill(serverBelow(child.pid), signal)
    await followed
    return { exitCode: await child.exited, log }
  }
  const banner = () => /export CUBBY_URL=(\S+) CUBBY_KEY=(\S+)\n/.exec(stdout) ?? undefined
  try {
    const [, url, key] = await eventually('the banner', banner)
    return { url: url!, key: key!, stop }
  } catch {
    await stop('SIGKILL')
    throw new Error(`there is no banner:\n${stdout}\n${log}`)
  }
}

describe('from an empty directory, with Node only', () => {
  test('both packages are installed, and the client makes the first record, within two minutes', async () => {
    const started = performance.now()
    await install(within('project'), within(tarballs.server), within(tarballs.client))
    const installedMs = performance.now() - started
    writeFileSync(within('project/first.mjs'), firstRecord)
    const { url, key, stop } = await startServing(within('project'))
    const servingMs = performance.now() - started
    try {
      const first = await run(['node', 'first.mjs'], within('project'), { CUBBY_URL: url, CUBBY_KEY: key })
      expect(first).toEqual({ exitCode: 0, stdout: itsOutput, stderr: '' })
      const elapsedMs = performance.now() - started
      const shown = [installedMs, servingMs, elapsedMs].map((ms) => `${(ms / 1000).toFixed(1)} s`)
      console.log(`installed after ${shown[0]}, serving after ${shown[1]}, first record after ${shown[2]}`)
      expect(elapsedMs).toBeLessThan(barMs)

      // Loaded on demand: a file of the bundle that is missing shows only now.
      for (const path of ['/docs', '/openapi.json', '/readyz']) expect((await fetch(url + path)).status).toBe(200)
      // Texts of the repository that the bundle must contain.
      expect(await (await fetch(`${url}/docs.md`)).text()).toContain('\n## Routes\n')
      expect(await (await fetch(`${url}/SKILL.md`)).text()).toContain(url)
      // The console, built before it was packed.
      const page = await (await fetch(`${url}/console`)).text()
      const files = Array.from(page.matchAll(/"(console\/[^"]+)"/g), ([, path]) => path!)
      expect(files.map((path) => path.split('.')[1]).sort()).toEqual(['css', 'js', 'js', 'svg'])
      for (const path of files) expect((await fetch(`${url}/${path}`)).status).toBe(200)
    } finally {
      const { exitCode, log } = await stop('SIGTERM')
      expect(log).toContain('"message":"stopped"')
      expect(exitCode).toBe(0)
    }
  })

  test('Bun is not on the path', () => {
    expect(Bun.which('bun', { PATH: env.PATH! })).toBeNull()
    expect(existsSync(within('project/node_modules/cubbydb/src'))).toBe(false)
  })

  test('both names of the command work', async () => {
    for (const name of ['cubby', 'cubbydb']) {
      const { exitCode, stdout } = await run(['npx', name, '--version'], within('project'))
      expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `cubby ${packageJson.version}\n` })
    }
  })

  test('workers, a backup and the check of the store work', async () => {
    const { url, key, stop } = await startServing(within('project'), '--workers', '2', '--data', within('workers'))
    const cubby = (...args: string[]) =>
      run(['npx', 'cubbydb', ...args, '--data', within('workers')], within('project'))
    try {
      const script = { CUBBY_URL: url, CUBBY_KEY: key }
      expect((await run(['node', 'first.mjs'], within('project'), script)).stdout).toBe(itsOutput)
      expect((await cubby('backup', 'create', within('backup'))).exitCode).toBe(0)
    } finally {
      expect((await stop('SIGTERM')).exitCode).toBe(0)
    }
    expect((await cubby('verify')).exitCode).toBe(0)
  })

  test('the PostgreSQL engine and its driver are there', async () => {
    const { exitCode, stderr } = await run(
      ['npx', 'cubbydb', 'orgs', 'list', '--store', 'postgres://user@127.0.0.1:1/none'],
      within('project'),
    )
    expect(exitCode).toBe(1)
    expect(stderr).toContain('nothing listens there')
  })

  test('npx runs the package file by itself', async () => {
    const { exitCode, stdout } = await run(['npx', '--yes', `./${tarballs.server}`, '--version'], dir)
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `cubby ${packageJson.version}\n` })
  })

  // pnpm switches install scripts off, and npm can. Bun's own command then prints an error instead of running.
  test('the command works without install scripts', async () => {
    await install(within('no-scripts'), '--ignore-scripts', within(tarballs.server))
    const { exitCode, stdout } = await run(['npx', 'cubby', '--version'], within('no-scripts'))
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `cubby ${packageJson.version}\n` })
  })
})

describe('the folder of the client', () => {
  const program = "import { Cubby, CubbyError } from '@cubbydb/client'\nconsole.log(Cubby.name, CubbyError.name)\n"

  test('is installed by another project: built, and used by Node and Bun', async () => {
    await install(within('folder'), clientFolder)
    writeFileSync(within('folder/names.mjs'), program)
    for (const runtime of ['node', process.execPath]) {
      const { exitCode, stdout } = await run([runtime, 'names.mjs'], within('folder'))
      expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'Cubby CubbyError\n' })
    }
  })

  test('without `npm ci` in its repository the installation fails and says so', async () => {
    cpSync(clientFolder, within('clone/packages/client'), { recursive: true })
    mkdirSync(within('lost'))
    const { exitCode, stderr } = await run(['npm', 'install', within('clone/packages/client')], within('lost'))
    expect(exitCode).not.toBe(0)
    expect(stderr).toContain(`Run "npm ci" in ${within('clone')}`)
  })
})
