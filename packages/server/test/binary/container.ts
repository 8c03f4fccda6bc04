import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { eventually, makeTempDir, removeTempDir, runCubby } from '../harness.ts'
import { buildBinary } from './build-binary.ts'

// The image cannot be built where there is no Docker. Its two halves can be tried: whether the files that it gets are enough for
// the build, and whether the binary runs in what is left of a system there.

const root = resolve(import.meta.dir, '../../../..')
let top: string

/** The patterns of .dockerignore that are used there: paths with `*`, and `**` for any folders. */
const ignored = readFileSync(join(root, '.dockerignore'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((pattern) => new Bun.Glob(`{${pattern},${pattern}/**}`))

/** The files of the repository as Docker sends them to the build, with the installed packages. */
const copyContext = async (to: string): Promise<void> => {
  const listed = await Bun.$`git ls-files --cached --others --exclude-standard`.cwd(root).text()
  for (const name of listed.trim().split('\n')) {
    if (ignored.some((glob) => glob.match(name))) continue
    mkdirSync(dirname(join(to, name)), { recursive: true })
    cpSync(join(root, name), join(to, name))
  }
  symlinkSync(join(root, 'node_modules'), join(to, 'node_modules'))
}

const noGit = Bun.which('git') === null || !existsSync(join(root, '.git'))
if (noGit) console.log('container.test.ts: this is no clone; the context of the image is not built')
const script = 'packages/server/scripts/build-binary.ts'

/** Says why this process may not make a root directory of its own; undefined if it may. */
const whyNoRoot = (): string | undefined => {
  if (process.platform !== 'linux') return 'this is not Linux'
  if (process.getuid!() !== 0) return 'this user may not change the root directory'
  if (['unshare', 'chroot', 'ldd', 'mount'].some((name) => Bun.which(name) === null)) return 'unshare is missing'
  const { exitCode } = Bun.spawnSync(['unshare', '--mount', 'true'], { stderr: 'ignore' })
  return exitCode === 0 ? undefined : 'this machine does not let it mount'
}

export const testContainer = (binary: () => string): void => {
  beforeAll(() => {
    top = makeTempDir()
  })
  afterAll(() => removeTempDir(top))

  test.skipIf(noGit)('what .dockerignore leaves is enough for the build', async () => {
    const context = join(top, 'context')
    await copyContext(context)
    const program = await buildBinary(join(top, 'from-context'), join(context, script))
    expect(await runCubby(['--help'], { program })).toEqual(await runCubby(['--help'], { program: binary() }))
    const [own, other] = [binary(), program].map((file) => readFileSync(join(dirname(file), 'cubby.cdx.json'), 'utf8'))
    expect(other).toBe(own!)
  })

  describe('as the image runs it', () => {
    const noRoot = whyNoRoot()
    if (noRoot !== undefined)
      console.log(`container.test.ts: ${noRoot}; the binary is not run in a directory of its own`)

    /** A root directory with the binary and the C library, as the base has it, and nothing else. */
    const makeRoot = async (): Promise<string> => {
      const dir = join(top, 'root')
      for (const name of ['usr/local/bin', 'data', 'tmp', 'proc', 'dev'])
        mkdirSync(join(dir, name), { recursive: true })
      writeFileSync(join(dir, 'dev/null'), '')
      copyFileSync(binary(), join(dir, 'usr/local/bin/cubby'))
      chmodSync(join(dir, 'usr/local/bin/cubby'), 0o755)
      const libraries = await Bun.$`ldd ${binary()}`.text()
      for (const [path] of libraries.matchAll(/\/\S+\.so\S*/g)) {
        mkdirSync(dirname(join(dir, path)), { recursive: true })
        copyFileSync(path, join(dir, path))
        chmodSync(join(dir, path), 0o755)
      }
      chownSync(join(dir, 'data'), 65532, 65532)
      chmodSync(join(dir, 'data'), 0o700)
      return dir
    }

    test.skipIf(noRoot !== undefined)(
      'no shell, a root that is read-only, uid 65532: it serves, checks itself and stops',
      async () => {
        const dir = await makeRoot()
        const env = Object.fromEntries(
          /^ENV (.*)$/m
            .exec(readFileSync(join(root, 'Dockerfile'), 'utf8'))![1]!
            .split(' ')
            .map((word) => word.split('=')),
        )
        // All addresses is the only setting that a test must not try.
        Object.assign(env, { CUBBY_HOST: '127.0.0.1', CUBBY_PORT: '0', CUBBY_WORKERS: '2' })
        const mounts = [
          'set -e',
          'mount --bind "$0" "$0"',
          'mount --bind "$0/data" "$0/data"',
          'mount -o remount,bind,ro "$0"',
          'mount -t tmpfs tmpfs "$0/tmp"',
          'mount -t proc proc "$0/proc"',
          'mount --bind /dev/null "$0/dev/null"',
          'exec chroot --userspec=65532:65532 --groups= "$0" /usr/local/bin/cubby "$@"',
        ]
        const inside = (words: string[], more: Record<string, string> = {}) =>
          Bun.spawn(['unshare', '--mount', 'sh', '-c', mounts.join('\n'), dir, ...words], {
            env: { PATH: process.env.PATH!, ...env, ...more },
            stdio: ['ignore', 'pipe', 'pipe'],
          })
        const output = async (words: string[], more?: Record<string, string>) => {
          const child = inside(words, more)
          const [stdout, stderr] = [new Response(child.stdout).text(), new Response(child.stderr).text()]
          return { exitCode: await child.exited, stdout: await stdout, stderr: await stderr }
        }
        const serving = inside(['serve'])
        let log = ''
        const reading = (async () => {
          for await (const chunk of serving.stderr) log += new TextDecoder().decode(chunk)
        })()
        try {
          const url = await eventually('it listens', () => /"listening","url":"([^"]+)"/.exec(log)?.[1], {
            waitMsMax: 30_000,
          })
          const { port } = new URL(url)
          const { secretKey } = JSON.parse((await output(['orgs', 'create', 'acme', '--json'])).stdout)
          const call = (method: string, path: string, body?: object) =>
            fetch(url + path, {
              method,
              headers: { authorization: `Bearer ${secretKey}`, 'content-type': 'application/json' },
              body: body === undefined ? null : JSON.stringify(body),
            })
          expect((await call('POST', '/v1/app/notes')).status).toBe(201)
          expect((await call('PUT', '/v1/app/notes', { hashKey: 'a', data: { n: 1 } })).status).toBe(200)
          for (const path of ['/console', '/docs', '/v1/app/notes/a'])
            expect((await call('GET', path)).status).toBe(200)
          expect(await output(['health'], { CUBBY_PORT: port })).toEqual({
            exitCode: 0,
            stdout: `ok: ${url} can serve\n`,
            stderr: '',
          })
          expect(statSync(join(dir, 'data/cubby.db'))).toMatchObject({ uid: 65532, gid: 65532 })
          const [, uid] = /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${serving.pid}/status`, 'utf8'))!
          expect(uid).toBe('65532')
          serving.kill('SIGTERM')
          expect(await serving.exited).toBe(0)
          await reading
          expect(log.split('\n').filter((line) => /"level":"(warn|error)"/.test(line))).toEqual([])
          expect((await output(['verify'])).stdout).toBe('ok: /data is sound\n')
        } finally {
          serving.kill('SIGKILL')
        }
      },
    )
  })
}
