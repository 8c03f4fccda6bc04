import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Engine } from '../core/engine.ts'
import type { Log } from '../core/log.ts'
import { openSqliteEngine } from './sqlite/engine.ts'
import { StoreRefused } from './sqlite/schema.ts'

export interface StoreLocation {
  /** The data directory of the embedded engine. */
  data: string
  /** A URL of another engine; then `data` is not used. */
  store: string | undefined
}

export interface OpenOptions {
  role: 'owner' | 'guest'
  /** Refuse a place where no store is yet, instead of making one. */
  mustExist?: boolean
  log?: Log
}

/** The one place that knows which engines there are. */
export const openEngine = async (location: StoreLocation, options: OpenOptions): Promise<Engine> => {
  if (location.store !== undefined) {
    throw new StoreRefused('--store: this version has the embedded engine only; leave --store out')
  }
  const dataDir = resolve(location.data)
  if (options.mustExist && !existsSync(join(dataDir, 'cubby.db')))
    throw new StoreRefused(`there is no store in ${dataDir}`)
  return openSqliteEngine({ dataDir, role: options.role, log: options.log })
}
