import { closeSync, openSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { makeTempDir, removeTempDir } from '../harness.ts'

// A disk of a few megabytes: a tmpfs in its own mount namespace, so that nothing of it is left, however the test ends. One
// process keeps the namespace alive; others enter it with `wrapper`.

export interface SmallDisk {
  /** The directory, as processes under `wrapper` see it. */
  dir: string
  /** The same directory, as this process sees it: only for programs that do not resolve links themselves (SQLite does). */
  outsideDir: string
  /** The words before a command that is to see the disk. */
  wrapper: string[]
  /** Leaves no byte free; `keepBytes` are given back at once. */
  fill(keepBytes?: number): void
  /** Removes what `fill` wrote. */
  free(): void
  remove(): Promise<void>
}

/** The disk, or the reason why there can be none here. */
export const mountSmallDisk = async (bytes: number): Promise<SmallDisk | string> => {
  if (Bun.which('unshare') === null || Bun.which('nsenter') === null) return 'unshare and nsenter are not installed'
  const dir = makeTempDir()
  const script = 'mount -t tmpfs -o "size=$1" tmpfs "$2" && echo mounted && exec cat'
  const holder = Bun.spawn(['unshare', '-rm', 'sh', '-c', script, 'sh', String(bytes), dir], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const { value } = await holder.stdout.getReader().read()
  if (!new TextDecoder().decode(value).startsWith('mounted')) {
    await holder.exited
    removeTempDir(dir)
    return `no mount namespace: ${(await new Response(holder.stderr).text()).trim()}`
  }
  // The kernel follows this link into the namespace; only programs that resolve links themselves (SQLite) do not.
  const outsideDir = join(`/proc/${holder.pid}/root`, dir)
  const filler = join(outsideDir, 'filler')
  return {
    dir,
    outsideDir,
    wrapper: ['nsenter', `--target=${holder.pid}`, '--user', '--mount', '--preserve-credentials', '--'],
    fill(keepBytes = 0) {
      const file = openSync(filler, 'a')
      try {
        for (const step of [65_536, 4_096, 1]) appendUntilFull(file, Buffer.alloc(step))
      } finally {
        closeSync(file)
      }
      if (keepBytes > 0) truncateSync(filler, Math.max(0, statSync(filler).size - keepBytes))
    },
    free: () => rmSync(filler, { force: true }),
    async remove() {
      holder.kill()
      await holder.exited
      removeTempDir(dir)
    },
  }
}

const appendUntilFull = (file: number, bytes: Uint8Array): void => {
  try {
    for (;;) writeSync(file, bytes)
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOSPC') throw error
  }
}
