import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { fileNameOf, ownTarget } from '../../scripts/binary/targets.ts'
import { endAllServing, spawnServe } from '../cli/serve-process.ts'
import { parseTrace, whyNoTrace } from '../crash/trace.ts'
import { eventually, type Json, makeTempDir, removeTempDir, runCubby, type Server, startServer } from '../harness.ts'
import { ok, TestTable } from '../http/service.ts'
import { buildBinary } from './build-binary.ts'
import { testContainer } from './container.ts'
import { testOldStores } from './old-stores.ts'

// The binary is what most operators run. It is made here as `npm run build:binary` makes it, and started far from this
// repository: what it does not have inside fails.

setDefaultTimeout(60_000)

const root = resolve(import.meta.dir, '../../../..')
let top: string
let dist: string
let binary: string
beforeAll(async () => {
  top = makeTempDir()
  dist = join(top, 'dist')
  binary = await buildBinary(dist)
})
afterAll(() => removeTempDir(top))

const within = (...names: string[]): string => {
  const dir = join(top, ...names)
  mkdirSync(dir, { recursive: true })
  return dir
}

describe('the build', () => {
  test('writes the binary, what is in it, the licences and the checksums of all three', async () => {
    const names = ['LICENSES.txt', fileNameOf(ownTarget()), 'cubby.cdx.json']
    expect(readdirSync(dist).sort()).toEqual([...names, 'SHA256SUMS'].sort())
    const sums = names.map((name) => {
      const digest = new Bun.CryptoHasher('sha256').update(readFileSync(join(dist, name))).digest('hex')
      return `${digest}  ${name}`
    })
    expect(readFileSync(join(dist, 'SHA256SUMS'), 'utf8')).toBe(`${sums.join('\n')}\n`)
  })

  test('cubby.cdx.json is a CycloneDX document that names every package with version, licence and digest', () => {
    const sbom: Json = JSON.parse(readFileSync(join(dist, 'cubby.cdx.json'), 'utf8'))
    expect(sbom).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.6', version: 1 })
    const { component } = sbom.metadata
    expect(component).toMatchObject({ type: 'application', name: 'cubby', version: packageJson.version })
    const refs = sbom.components.map((part: Json) => part['bom-ref'])
    expect(new Set(refs).size).toBe(refs.length)
    expect(sbom.dependencies).toEqual([{ ref: component['bom-ref'], dependsOn: refs }])
    for (const part of sbom.components) {
      expect(part.purl).toBe(`pkg:npm/${part.name.replace('@', '%40')}@${part.version}`)
      expect(part.hashes).toEqual([{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) }])
      const [license, ...more] = part.licenses
      expect([license.license?.id ?? license.expression, more]).toEqual([expect.stringMatching(/\S/), []])
    }
    const versions = Object.fromEntries(sbom.components.map(({ name, version }: Json) => [name, version]))
    const { bun, ...libraries } = packageJson.dependencies
    const runtime = `@oven/bun-${ownTarget().replace('arm64', 'aarch64')}`
    // The packages that `pg` needs itself are there too, and those in the script of the console.
    expect(versions).toMatchObject({ ...libraries, [runtime]: bun })
    expect(Object.keys(versions)).toEqual(expect.arrayContaining(['pg-protocol', 'pg-types', 'preact']))
    const licenses = readFileSync(join(dist, 'LICENSES.txt'), 'utf8')
    for (const [name, version] of Object.entries(versions)) {
      const title = name === runtime ? `Bun ${bun} (MIT)` : `${name} ${version} (`
      expect([name, licenses.includes(`\n${title}`)]).toEqual([name, true])
    }
    expect(licenses).toStartWith(`Cubby ${packageJson.version} (Apache-2.0)`)
  })

  test('a target that does not exist is refused by a line that names all of them', async () => {
    const script = join(root, 'packages/server/scripts/build-binary.ts')
    const child = Bun.spawn([process.execPath, script, '--target', 'amiga', '--out', join(top, 'none')], {
      stderr: 'pipe',
    })
    expect(await child.exited).toBe(1)
    expect(await new Response(child.stderr).text()).toMatch(/^build:binary: "amiga" is not a target\n.*linux-x64-musl/s)
    expect(existsSync(join(top, 'none'))).toBe(false)
  })
})

describe('the binary', () => {
  let server: Server
  afterEach(async () => {
    await server?.stop()
    await endAllServing()
  })

  const pages = ['/openapi.json', '/docs', '/SKILL.md', '/llms.txt', '/docs.md', '/console']
  const args = ['--public-url', 'https://cubby.example.com']

  /** Every page, and the files that the console names. The nonce of the console is another one each time. */
  const readPages = async (from: Server): Promise<Record<string, string>> => {
    const texts: Record<string, string> = {}
    const read = async (path: string): Promise<string> => {
      const answer = await fetch(from.url + path)
      texts[path] = (await answer.text()).replace(/ nonce="[^"]+"/g, '')
      expect([path, answer.status, texts[path].slice(0, 200)]).toEqual([path, 200, expect.stringMatching(/\S/)])
      return texts[path]
    }
    for (const path of pages) await read(path)
    const named = Array.from(
      texts['/console']!.matchAll(/ (?:href|src)="([^"]+\.(?:js|css|svg))"/g),
      ([, name]) => name!,
    )
    for (const name of named) await read(new URL(name, `${from.url}/console`).pathname)
    return texts
  }

  test('has every page inside: the API, the docs, those for agents, the console with its script and style', async () => {
    server = await startServer({ program: binary, args })
    const inBinary = await readPages(server)
    await server.stop()
    server = await startServer({ args })
    expect(Object.keys(inBinary).map((path) => path.split('.').at(-1))).toEqual(
      expect.arrayContaining(['js', 'css', 'svg']),
    )
    expect(inBinary).toEqual(await readPages(server))
  })

  test('serves with several processes, restarts after a kill and stops in order', async () => {
    server = await startServer({ program: binary, args: ['--workers', '2'] })
    const { secretKey } = await server.createOrganization()
    const table = new TestTable(server.as(secretKey), 'app', 'notes')
    ok(await table.api.post(table.path, { indices: { i1: { hashField: 'n' } } }), 201)
    await Promise.all(Array.from({ length: 20 }, (_, n) => table.put(`a${n}`, { n })))
    await server.restart('SIGKILL')
    const again = new TestTable(server.as(secretKey), 'app', 'notes')
    expect(await again.hashes({ index: 'i1', hash: 7 })).toEqual(['a7'])
    expect(await runCubby(['health', '--url', server.url], { program: binary })).toMatchObject({ exitCode: 0 })
    expect(await server.cubby('verify')).toMatchObject({ exitCode: 0, stderr: '' })
    expect(await server.end('SIGTERM')).toBe(0)
    expect(server.log.filter(({ level }) => level === 'error')).toEqual([])
    expect(await runCubby(['health', '--url', server.url], { program: binary })).toMatchObject({ exitCode: 1 })
  })

  test('calls itself cubby where the package says npx', async () => {
    const dataDir = within('named')
    for (const start of ['first', 'later']) {
      const serving = spawnServe({ program: binary, dataDir })
      await serving.ready
      await eventually('the greeting', () => (serving.stdout.includes('/docs') ? true : undefined))
      await serving.end()
      expect([start, serving.stdout]).toEqual([start, expect.not.stringContaining('npx')])
      if (start === 'later')
        expect(serving.stdout).toContain('To create another API key: cubby keys create --org default')
    }
  })

  /**
   * The files that Bun reads in the directory where it is called, and those that a program could confuse with its own
   * files.
   */
  const makeTrap = (): string => {
    const dir = within('trap')
    const settings = 'CUBBY_PORT=none\nCUBBY_WORKERS=none\n'
    for (const name of ['.env', '.env.local', '.env.production', '.env.development']) {
      writeFileSync(join(dir, name), settings)
    }
    const script = `require('fs').writeFileSync(${JSON.stringify(join(top, 'sprung'))}, __filename)\n`
    for (const name of ['preload.js', 'main.js', 'writer-thread.js', 'writer-thread.ts', 'checkpoint-thread.js']) {
      writeFileSync(join(dir, name), script)
    }
    writeFileSync(join(dir, 'bunfig.toml'), 'preload = ["./preload.js"]\n[run]\npreload = ["./preload.js"]\n')
    writeFileSync(join(dir, 'package.json'), '{"name":"trap","type":"commonjs","main":"./main.js"}')
    writeFileSync(join(dir, 'tsconfig.json'), '{"compilerOptions":{"paths":{"pg":["./main.js"]}}}')
    return dir
  }

  const noTrace = whyNoTrace()
  if (noTrace !== undefined) console.log(`binary.test.ts: ${noTrace}; the files that the binary opens are not listed`)

  // A .env in a directory that others can write to could otherwise give the server another store, and a bunfig.toml its code.
  test('reads nothing of the directory where it is called, and nothing of this repository', async () => {
    const [cwd, dataDir, trace] = [makeTrap(), within('trap-data'), join(top, 'trace')]
    const strace = ['strace', '-f', '-s', '4096', '-o', trace, '-e', 'trace=%file']
    const serving = spawnServe({
      ...{ program: binary, dataDir, cwd, args: ['--workers', '2', '--no-bootstrap'] },
      ...(noTrace === undefined && { wrapper: strace }),
    })
    await serving.ready
    await readPages(serving.server)
    // strace passes no signal on. The first line of its file begins with the process that it started.
    const pid = noTrace === undefined ? Number.parseInt(readFileSync(trace, 'utf8'), 10) : serving.pid
    process.kill(pid, 'SIGTERM')
    await serving.exited
    expect(serving.stderr).toContain('"stopped"')
    expect(existsSync(join(top, 'sprung'))).toBe(false)
    if (noTrace !== undefined) return
    const paths = parseTrace(readFileSync(trace, 'utf8')).flatMap(({ text }) => {
      const [path] = /"((?:[^"\\]|\\.)*)"/.exec(text)?.slice(1) ?? []
      return path === undefined ? [] : [resolve(cwd, path)]
    })
    expect(paths).toContain(join(dataDir, 'cubby.db'))
    const wrong = paths.filter((path) => path.startsWith(`${cwd}/`) || path.startsWith(`${root}/`))
    expect([...new Set(wrong)]).toEqual([])
  })
})

testOldStores(() => binary)
testContainer(() => binary)
