import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fileNameOf, ownTarget } from '../../scripts/binary/targets.ts'

const ownScript = fileURLToPath(new URL('../../scripts/build-binary.ts', import.meta.url))

/** Builds the binary of this machine into `dir`, as `npm run build:binary` does; with the script of this repository, or of a copy. Its path. */
export const buildBinary = async (dir: string, script = ownScript): Promise<string> => {
  const child = Bun.spawn([process.execPath, script, '--out', dir], {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const problems = await new Response(child.stderr).text()
  if ((await child.exited) !== 0) throw new Error(`the binary could not be built:\n${problems}`)
  return join(dir, fileNameOf(ownTarget()))
}
