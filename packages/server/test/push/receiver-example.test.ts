import { expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { newTaskSecret } from '../../src/core/tasks/task-secret.ts'
import { makeTempDir, removeTempDir } from '../harness.ts'
import { aRun, comes, listen, push, secret } from './push-fixture.ts'

const page = readFileSync(resolve(import.meta.dir, '../../../../docs/http-api.md'), 'utf8')

test('docs/http-api.md: the receiver takes pushes that Cubby has signed, and no others', async () => {
  const [, section] = page.split('\n## Push\n')
  const blocks = Array.from(section!.split('\n## ')[0]!.matchAll(/^```js\n(.*?)^```$/gms), ([, text]) => text!)
  const dir = makeTempDir()
  writeFileSync(join(dir, 'receiver.mjs'), blocks.join('\n'))
  const free = await listen('')
  await free.close()
  const receiver = Bun.spawn([process.execPath, join(dir, 'receiver.mjs')], {
    env: { PATH: process.env.PATH!, PORT: String(free.port), TASK_SECRET: secret },
    stdout: 'pipe',
  })
  try {
    const url = `http://127.0.0.1:${free.port}/`
    const send = (secrets: string[], nowMs = Date.now()) =>
      push(url, { nowMs }, { secrets, run: aRun({ payload: '{"to":"ada 🙂"}' }) })
    let first = await send([secret])
    const isUp = async (): Promise<boolean> => {
      for (let tries = 0; tries < 100 && first.status === 'failed'; tries++) {
        await Bun.sleep(50)
        first = await send([secret])
      }
      return first.status === 'succeeded'
    }
    expect(await isUp()).toBe(true)
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
