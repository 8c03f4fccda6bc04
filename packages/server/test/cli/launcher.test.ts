import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import packageJson from '../../package.json' with { type: 'json' }
import { makeTempDir, removeTempDir } from '../harness.ts'

// After `npm ci` the command is there, with nothing else installed than Node and npm.

setDefaultTimeout(120_000)

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const version = { exitCode: 0, stdout: `cubby ${packageJson.version}\n` }

const runIn = async (cwd: string, command: string[], env: Record<string, string | undefined> = process.env) => {
  const child = Bun.spawn(command, { cwd, env, stdin: 'ignore', stdout: 'pipe', stderr: 'ignore' })
  return { stdout: await new Response(child.stdout).text(), exitCode: await child.exited }
}

/**
 * Starts a server by this command, sends SIGTERM to the command once the server listens, and returns the log. The log ends
 * when the last process that holds it ends, which is the server: if the signal does not reach it, this does not return.
 */
const logUntilStopped = async (command: string[], flags: string[] = []): Promise<{ log: string; exitCode: number }> => {
  const dir = makeTempDir()
  const child = Bun.spawn([...command, '--no-bootstrap', '--port', '0', '--data', dir, ...flags], {
    ...{ cwd: root, stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' },
  })
  try {
    let log = ''
    for await (const chunk of child.stderr) {
      log += new TextDecoder().decode(chunk)
      if (log.includes('listening') && !log.includes('stopping')) child.kill('SIGTERM')
    }
    return { log, exitCode: await child.exited }
  } finally {
    child.kill('SIGKILL')
    removeTempDir(dir)
  }
}

describe('the launcher', () => {
  test.skipIf(Bun.which('npx') === null)('npx cubbydb, inside the repository', async () => {
    expect(await runIn(root, ['npx', 'cubbydb', '--version'])).toEqual(version)
    expect(await runIn(join(root, 'packages/server'), ['npx', 'cubbydb', '--version'])).toEqual(version)
    expect(await runIn(root, ['npx', 'cubby', '--version'])).toEqual(version)
  })

  test('node_modules/.bin/cubby, from anywhere and without bun on the path', async () => {
    const dir = makeTempDir()
    try {
      const env = { ...process.env, PATH: '/usr/bin:/bin' }
      expect(await runIn(dir, [join(root, 'node_modules/.bin/cubby'), '--version'], env)).toEqual(version)
    } finally {
      removeTempDir(dir)
    }
  })

  test('through a chain of links, relative ones too', async () => {
    const dir = makeTempDir()
    try {
      mkdirSync(join(dir, 'bin here'))
      symlinkSync(join(root, 'node_modules/.bin/cubby'), join(dir, 'bin here/one'))
      symlinkSync('bin here/one', join(dir, 'two'))
      expect(await runIn('/', [join(dir, 'two'), '--version'])).toEqual(version)
      expect(await runIn(dir, ['./two', '--version'])).toEqual(version)
    } finally {
      removeTempDir(dir)
    }
  })

  test('help shows the command as it was called', async () => {
    const dir = makeTempDir()
    const firstLine = async (command: string[], env: Record<string, string | undefined>): Promise<string> =>
      (
        await runIn(root, [...command, 'orgs', 'list', '--help'], { ...process.env, npm_command: undefined, ...env })
      ).stdout.split('\n')[0]!
    try {
      symlinkSync(join(root, 'node_modules/.bin/cubby'), join(dir, 'cubby'))
      const cubby = join(root, 'node_modules/.bin/cubby')
      expect(await firstLine(['cubby'], { PATH: `${dir}:/usr/bin:/bin` })).toBe('cubby orgs list [flags]')
      expect(await firstLine([cubby], { PATH: '/usr/bin:/bin' })).toBe('npx cubbydb orgs list [flags]')
      if (Bun.which('npx') !== null) {
        expect(await firstLine(['npx', 'cubbydb'], {})).toBe('npx cubbydb orgs list [flags]')
      }
      // Another program of that name is not this one.
      writeFileSync(join(dir, 'other'), '#!/bin/sh\n', { mode: 0o755 })
      rmSync(join(dir, 'cubby'))
      symlinkSync('other', join(dir, 'cubby'))
      expect(await firstLine([cubby], { PATH: `${dir}:/usr/bin:/bin` })).toBe('npx cubbydb orgs list [flags]')
    } finally {
      removeTempDir(dir)
    }
  })

  test('passes arguments as they are, and the exit code back', async () => {
    const dir = makeTempDir()
    try {
      const data = join(dir, 'a "strange" $name')
      const cubby = join(root, 'node_modules/.bin/cubby')
      expect((await runIn(dir, [cubby, 'orgs', 'create', 'acme', '--data', data])).exitCode).toBe(0)
      const verified = await runIn(dir, [cubby, 'verify', '--data', data])
      expect(verified.exitCode).toBe(0)
      expect(verified.stdout).toContain(data)
      expect((await runIn(dir, [cubby, 'orgs', 'create', 'acme', '--data', data])).exitCode).toBe(1)
    } finally {
      removeTempDir(dir)
    }
  })

  test('becomes the server: a signal to it is a signal to the service', async () => {
    const { log, exitCode } = await logUntilStopped([join(root, 'node_modules/.bin/cubby'), 'serve'])
    expect(log).toContain('stopped')
    expect(exitCode).toBe(0)
  })

  // Without `exec` in the script, npm ends only its shell, and the server keeps the store locked.
  test.skipIf(Bun.which('npm') === null)('npm start: SIGTERM to npm stops the server', async () => {
    expect((await logUntilStopped(['npm', 'start', '--'])).log).toContain('stopped')
  })

  // npx passes the signal on to its shell, and the shell does not to the server.
  test.skipIf(Bun.which('npx') === null).each([[[]], [['--workers', '2']]])(
    'npx cubbydb serve %p: the server stops when npx is ended',
    async (flags) => {
      expect((await logUntilStopped(['npx', 'cubbydb', 'serve'], flags)).log).toContain('stopped')
    },
  )

  // A tool that npx runs may start a server in the background and end.
  test('a server that something else below npx starts keeps running without its parent', async () => {
    const dir = makeTempDir()
    const env = { ...process.env, npm_lifecycle_event: 'npx', npm_lifecycle_script: "'start-services'" }
    const cubby = join(root, 'node_modules/.bin/cubby')
    const flags = `--no-bootstrap --port 0 --data '${dir}'`
    const child = Bun.spawn(['sh', '-c', `'${cubby}' serve ${flags} & echo $!; read line`], {
      ...{ env, stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' },
    })
    let pid: number | undefined
    try {
      const { value } = await child.stdout.getReader().read()
      pid = Number(new TextDecoder().decode(value))
      let log = ''
      const reading = (async () => {
        for await (const chunk of child.stderr) log += new TextDecoder().decode(chunk)
      })()
      while (!log.includes('listening')) await Bun.sleep(50)
      child.stdin.end()
      await child.exited
      // A server of npx itself looks for its parent twice a second.
      await Bun.sleep(700)
      expect(log).not.toContain('stopping')
      process.kill(pid, 'SIGTERM')
      await reading
      expect(log).toContain('"signal":"SIGTERM"')
      expect(log).toContain('stopped')
    } finally {
      child.kill('SIGKILL')
      removeTempDir(dir)
    }
  })
})
