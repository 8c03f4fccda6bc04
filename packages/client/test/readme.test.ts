import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { installBuilt } from './built-package.ts'
import { inTemporaryDirectory, startRealServer } from './real-server.ts'

const root = join(import.meta.dir, '../../..')

/** The samples are one program: a later one uses what an earlier one declares. */
const program = async (): Promise<string> => {
  const readme = await Bun.file(join(import.meta.dir, '../README.md')).text()
  return Array.from(readme.matchAll(/^```ts\n(.*?)^```$/gms), ([, sample]) => sample).join('\n')
}

const run = async (command: string[], cwd: string, env: Record<string, string | undefined>) => {
  const child = Bun.spawn(command, { cwd, env, stderr: 'pipe' })
  const [out, problems] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { out, problems, exitCode: await child.exited }
}

test('the samples of the README compile, run, and print what they say', async () => {
  const source = await program()
  expect(source.split('\n').length).toBeGreaterThan(60)
  await inTemporaryDirectory(async (directory) => {
    await installBuilt(directory)
    await Bun.write(join(directory, 'package.json'), '{ "type": "module" }')
    await Bun.write(join(directory, 'samples.ts'), source)
    const compilerOptions = {
      strict: true,
      noEmit: true,
      target: 'es2022',
      module: 'nodenext',
      lib: ['es2022', 'dom'],
      typeRoots: [join(root, 'node_modules/@types')],
      types: ['node'],
      skipLibCheck: true,
    }
    await Bun.write(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['samples.ts'] }))
    const checked = await run([join(root, 'node_modules/.bin/tsc'), '-p', '.'], directory, process.env)
    expect(checked).toEqual({ out: '', problems: '', exitCode: 0 })

    const server = await startRealServer()
    try {
      const env = { ...process.env, CUBBY_URL: server.url, CUBBY_KEY: server.secretKey, NO_COLOR: '1' }
      const { out, problems, exitCode } = await run([process.execPath, 'samples.ts'], directory, env)
      expect(problems).toBe('')
      // Each `console.log(…) // text` prints that text; the last ones are those of the error handling.
      const promised = Array.from(source.matchAll(/console\.log\(.*\) \/\/ (.*)$/gm), ([, text]) => text!)
      expect(promised).toHaveLength(21)
      const failed = [0, 1, 2, 3].map((i) => `25 records from ${25 * i} on: failed`)
      const rest = '900 records from 100 on: unsent'
      const refused = '1 stored; line 2: invalid_key'
      expect(out.trim().split('\n')).toEqual([...promised, 'changed in between', ...failed, rest, refused])
      expect(exitCode).toBe(0)
    } finally {
      await server.stop()
    }
  })
}, 120_000)
