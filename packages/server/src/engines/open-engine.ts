import { resolve } from 'node:path'
import type { ClosedStore, OpenOptions } from '../store/closed-store.ts'
import type { Engine } from '../store/engine.ts'
import type { EngineFlags, FlagValues, SettingSource } from '../store/settings.ts'
import { type PostgresSettings, postgresFlags, readPostgresSettings } from './postgres/settings.ts'
import { readSqliteSettings, type SqliteSettings, sqliteFlags } from './sqlite/settings.ts'

// The only file that knows which engines exist. An engine is loaded when a store of it is used: each takes time to load.

export interface StoreLocation {
  /** The data directory of the embedded engine. */
  data: string
  /** A URL of another engine; then `data` is not used. */
  store: string | undefined
  /** How the operator gave the URL, for messages about it: `--to`, `CUBBY_STORE`. */
  storeGivenAs?: string
}

/** The settings of every engine. Each store gets those of its own. */
export interface EngineSettings {
  sqlite: SqliteSettings
  postgres: PostgresSettings
}

/** The flags of `cubby serve` that engines declare. */
export const engineFlags: EngineFlags = { ...postgresFlags, ...sqliteFlags }

const defaults: FlagValues = {
  count(flag) {
    const declared = engineFlags[flag]!
    return declared.type === 'count' ? declared.default : 0
  },
  isSet: () => false,
}

/** All flags are read, so that a wrong value is refused whichever engine is used. Without flags: the defaults. */
export const readEngineSettings = ({
  testVariable,
  ...flags
}: Pick<SettingSource, 'testVariable'> & Partial<FlagValues>): EngineSettings => {
  const source: SettingSource = { ...defaults, ...flags, testVariable }
  return { sqlite: readSqliteSettings(source), postgres: readPostgresSettings(source) }
}

/** Opens nothing yet. */
export const findStore = async (location: StoreLocation, settings?: EngineSettings): Promise<ClosedStore> => {
  const { data, store, storeGivenAs } = location
  if (store === undefined) {
    const { sqliteStore } = await import('./sqlite/closed-store.ts')
    return sqliteStore(resolve(data), settings?.sqlite)
  }
  const { postgresStore } = await import('./postgres/closed-store.ts')
  return postgresStore(store, settings?.postgres, storeGivenAs)
}

export const openEngine = async (location: StoreLocation, options: OpenOptions): Promise<Engine> =>
  (await findStore(location)).open(options)
