import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildBinary } from '../test/binary/build-binary.ts'

// The black-box tests once more, on the binary of this machine, and the browser tests of the console with it. With
// CUBBY_TEST_BINARY=full part of `npm test`; with arguments, only the test files named.

const named = process.argv.slice(2)
const suites =
  named.length > 0
    ? named
    : [
        'packages/server/test/http',
        'packages/server/test/cli',
        'packages/server/test/data-tools',
        'packages/server/test/mcp',
        'packages/server/test/openapi/page-browser.test.ts',
        'packages/server/test/manners',
        'packages/server/test/model.test.ts',
        'packages/server/test/workers.test.ts',
        'packages/console/test',
      ]

const dir = await mkdtemp(join(tmpdir(), 'cubby-binary-'))
try {
  const run = Bun.spawn([process.execPath, 'test', '--timeout', '60000', ...suites], {
    env: { ...process.env, CUBBY_TEST_PROGRAM: await buildBinary(dir) },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  process.exitCode = await run.exited
} finally {
  await rm(dir, { recursive: true, force: true })
}
process.exit()
