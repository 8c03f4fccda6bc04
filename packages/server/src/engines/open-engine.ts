import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Log } from '../core/log.ts'
import { StoreRefused } from '../core/store-refused.ts'
import type { Engine } from '../store/engine.ts'
import { openSqliteEngine } from './sqlite/engine.ts'

export interface StoreLocation {
  /** The data directory of the embedded engine. */
  data: string
  /** A URL of another engine; then `data` is not used. */
  store: string | undefined
}

export interface OpenOptions {
  /** See SqliteOptions. An engine that many processes share has no owner. */
  role: 'owner' | 'guest'
  /** Refuse a place where no store is yet, instead of making one. */
  mustExist?: boolean
  noMmap?: boolean
  poolSize?: number
  statementMsMax?: number
  /** Tests move the clock; sweeps then believe it rather than the database's. */
  sweepClock?: 'database' | 'caller'
  /** Of a PostgreSQL store that is made now. */
  leaseMs?: number
  /** Embedded engine, owner: see SqliteOptions. */
  drain?: () => Promise<unknown>
  /** Embedded engine, for tests: see engines/sqlite/disk/fault-point.ts. */
  faults?: string
  log?: Log
}

/** The one place that knows which engines there are. */
export const openEngine = async (location: StoreLocation, options: OpenOptions): Promise<Engine> => {
  const { store } = location
  if (store !== undefined) {
    // Loaded only when it is used: the embedded engine starts faster without it.
    const { openPostgresEngine } = await import('./postgres/engine.ts')
    const { mustExist, poolSize, statementMsMax, sweepClock, leaseMs, log } = options
    return openPostgresEngine({ url: store, mustExist, poolSize, statementMsMax, sweepClock, leaseMs, log })
  }
  const dataDir = resolve(location.data)
  if (options.mustExist && !existsSync(join(dataDir, 'cubby.db')))
    throw new StoreRefused(`there is no store in ${dataDir}`)
  const { role, noMmap, log, drain, faults } = options
  return openSqliteEngine({ dataDir, role, noMmap, log, drain, faults })
}

/** For the start-up line and messages: where the store is, without its password. */
export const describeLocation = ({ data, store }: StoreLocation): string => {
  if (store === undefined) return resolve(data)
  const url = new URL(store)
  return `${url.protocol}//${url.host}${url.pathname}`
}
