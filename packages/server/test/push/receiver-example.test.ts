import { expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { newTaskSecret } from '../../src/core/tasks/task-secret.ts'
import { makeTempDir, removeTempDir } from '../harness.ts'
import { aRun, comes, push, secret } from './push-fixture.ts'

const page = readFileSync(resolve(import.meta.dir, '../../../../docs/http-api.md'), 'utf8')

test('docs/http-api.md: the receiver takes pushes that Cubby has signed, and no others', async () => {
  const [, section] = page.split('\n## Push\n')
  const blocks = Array.from(section!.split('\n## ')[0]!.matchAll(/^```js\n(.*?)^```$/gms), ([, text]) => text!)
  const dir = makeTempDir()
  writeFileSync(join(dir, 'receiver.mjs'), blocks.join('\n'))
  // The receiver gets a free port from the system, and tells it: one that is chosen before could be taken meanwhile.
  const tellPort = `const listen = Server.prototype.listen
    Server.prototype.listen = function (...given) {
      return listen.apply(this, given).once('listening', () => console.log('port', this.address().port))
    }`
  writeFileSync(join(dir, 'tell-port.mjs'), `import { Server } from 'node:http'\n${tellPort}`)
  const receiver = Bun.spawn([process.execPath, '--preload', join(dir, 'tell-port.mjs'), join(dir, 'receiver.mjs')], {
    env: { PATH: process.env.PATH!, PORT: '0', TASK_SECRET: secret },
    stdout: 'pipe',
  })
  try {
    const { value } = await receiver.stdout.getReader().read()
    const port = /port (\d+)/.exec(new TextDecoder().decode(value))![1]
    const url = `http://127.0.0.1:${port}/`
    const send = (secrets: string[], nowMs = Date.now()) =>
      push(url, { nowMs }, { secrets, run: aRun({ payload: '{"to":"ada 🙂"}' }) })
    const first = await send([secret])
    expect(first).toEqual({ status: 'succeeded', result: '{"sent":true}' })
    expect(await send([newTaskSecret(), secret])).toMatchObject({ status: 'succeeded' })
    const refused = { status: 'failed', error: { code: 'http_status', message: 'The target answered 401.' } }
    expect(await send([newTaskSecret()])).toMatchObject(refused)
    expect(await send([secret], Date.now() - 3_600_000)).toMatchObject(refused)
    expect(await send([secret], Date.now() + 3_600_000)).toMatchObject(refused)
  } finally {
    receiver.kill()
    await receiver.exited
    removeTempDir(dir)
  }
  expect(await comes(() => receiver.killed)).toBe(true)
})
