import { closeSync, copyFileSync, mkdtempSync, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** The data directory of a copy of the store, after `damage`. */
export const copyStore = (top: string, file: string, damage: (handle: number) => void): string => {
  const dataDir = mkdtempSync(join(top, 'store-'))
  copyFileSync(file, join(dataDir, 'cubby.db'))
  const handle = openSync(join(dataDir, 'cubby.db'), 'r+')
  damage(handle)
  closeSync(handle)
  return dataDir
}

export const flipBit = (handle: number, at: number, bit: number): void => {
  const byte = Buffer.alloc(1)
  readSync(handle, byte, 0, 1, at)
  byte[0]! ^= 1 << bit
  writeSync(handle, byte, 0, 1, at)
}
