import type { EngineFlags, SettingSource } from '../../store/settings.ts'

export const sqliteFlags = {
  'no-mmap': {
    type: 'switch',
    help: 'with --data: no memory map; slower, but a bad sector does not end the process',
  },
} satisfies EngineFlags

export interface SqliteSettings {
  /** Read through SQLite's own page cache only: see docs/operating.md. */
  noMmap?: boolean
  /** For tests: see disk/fault-point.ts. */
  faults?: string
}

export const readSqliteSettings = ({ isSet, testVariable }: SettingSource): SqliteSettings => ({
  noMmap: isSet('no-mmap'),
  faults: testVariable('CUBBY_TEST_FAULTS'),
})
