import { resolve } from 'node:path'
import { OperatorError } from '../core/operator-error.ts'
import { parseDuration } from '../core/text/duration.ts'
import type { ArchiveReport, BackupContents, ClosedStore, OpenOptions, WithCopy } from '../store/closed-store.ts'
import type { Engine } from '../store/engine.ts'
import type { StepNotes } from '../store/maintenance.ts'
import type { EngineFlags, FlagValues, SettingSource } from '../store/settings.ts'
import { type PostgresSettings, postgresFlags, readPostgresSettings } from './postgres/settings.ts'
import { readSqliteSettings, type SqliteSettings, sqliteFlags } from './sqlite/settings.ts'

// The only file that knows which engines exist. An engine is loaded when a store of it is used: each takes time to load.

export interface StoreLocation {
  /** The data directory of the embedded engine. */
  data: string
  /** A URL of another engine; then `data` is not used. */
  store: string | undefined
  /** The flag or variable with which the operator gave the URL, for messages: `--to`, `CUBBY_STORE`. */
  storeGivenAs?: string
}

/** The settings of every engine. Each store gets those of its own. */
interface EngineSettings {
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
  text: () => undefined,
  durationMs(flag) {
    const declared = engineFlags[flag]!
    return declared.type === 'duration' ? parseDuration(declared.default)! : 0
  },
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
  if (settings?.sqlite.archive !== undefined) {
    throw new OperatorError(
      '--archive is for the embedded engine; PostgreSQL archives its own WAL: pg_basebackup and archive_command, or pgBackRest or WAL-G (docs/engines.md)',
    )
  }
  const { postgresStore } = await import('./postgres/closed-store.ts')
  return postgresStore(store, settings?.postgres, storeGivenAs)
}

export const openEngine = async (location: StoreLocation, options: OpenOptions): Promise<Engine> =>
  (await findStore(location)).open(options)

/** Checks a backup of the embedded engine. */
export const verifyBackup = async (file: string, withCopy: WithCopy, notes: StepNotes): Promise<BackupContents> =>
  (await import('./sqlite/transfer/backup.ts')).verifyBackup(file, withCopy, notes)

/** Checks an archive of the embedded engine. */
export const verifyArchive = async (dir: string, notes: StepNotes): Promise<ArchiveReport> =>
  (await import('./sqlite/archive/verify-archive.ts')).verifyArchive(dir, notes)
