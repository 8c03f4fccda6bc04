import { expect, test } from 'bun:test'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { installBuilt } from './built-package.ts'
import { inTemporaryDirectory, startRealServer } from './real-server.ts'

test('the built package works in a plain Node script', async () => {
  await inTemporaryDirectory(async (directory) => {
    await installBuilt(directory)
    await cp(join(import.meta.dir, 'node-script.mjs'), join(directory, 'script.mjs'))
    const server = await startRealServer()
    try {
      const node = Bun.spawn(['node', 'script.mjs'], {
        cwd: directory,
        env: {
          PATH: process.env.PATH,
          CUBBY_URL: server.url,
          CUBBY_KEY: server.secretKey,
          CUBBY_PUBLIC_KEY: server.publicKey,
        },
        stderr: 'pipe',
      })
      const [out, problems] = await Promise.all([new Response(node.stdout).text(), new Response(node.stderr).text()])
      expect(problems).toBe('')
      expect(out).toMatch(/^done on Node v\d+/)
      expect(await node.exited).toBe(0)
    } finally {
      await server.stop()
    }
  })
}, 120_000)
