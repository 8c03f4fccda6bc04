import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeTempDir, removeTempDir, storeIsEmbedded } from '../harness.ts'

// A disk that fails under a real server: shim.c, built here and preloaded into the process.

const source = fileURLToPath(new URL('./shim.c', import.meta.url))

/** The names are in the order of shim.c. */
const names = [
  'dropDbWrites',
  'failDbSyncs',
  'failOnly',
  'failWalSyncs',
  'fullDbWrites',
  'fullWalWrites',
  'dropped',
  'lost',
  'failedSyncMs',
  'failing',
  'failArchiveSyncs',
] as const
type NumberName = (typeof names)[number]

/** Says why there can be no shim here; undefined if there can. */
export const whyNoShim = (): string | undefined => {
  if (!storeIsEmbedded()) return 'the store is a server of its own'
  if (process.platform !== 'linux') return 'the shim is for Linux'
  return Bun.which('cc') === null ? 'there is no C compiler (cc)' : undefined
}

/** One failing disk: the environment that puts a process on it, and its faults. */
export class Shim {
  readonly env: Record<string, string>
  readonly #dir = makeTempDir()
  readonly #control: number

  constructor() {
    const library = join(this.#dir, 'shim.so')
    const built = Bun.spawnSync(['cc', '-shared', '-fPIC', '-O1', '-Wall', '-Werror', '-o', library, source, '-ldl'])
    if (built.exitCode !== 0) throw new Error(`the shim cannot be built: ${built.stderr}`)
    const control = join(this.#dir, 'control')
    this.#control = openSync(control, 'w+')
    writeSync(this.#control, Buffer.alloc(4 * names.length))
    this.env = { LD_PRELOAD: library, CUBBY_SHIM_CONTROL: control, NODE_ENV: 'test' }
  }

  get(name: NumberName): number {
    const bytes = new Uint32Array(1)
    readSync(this.#control, bytes, 0, 4, 4 * names.indexOf(name))
    return bytes[0]!
  }

  set(name: NumberName, value: number): void {
    writeSync(this.#control, Uint32Array.of(value), 0, 4, 4 * names.indexOf(name))
  }

  remove(): void {
    closeSync(this.#control)
    removeTempDir(this.#dir)
  }
}
