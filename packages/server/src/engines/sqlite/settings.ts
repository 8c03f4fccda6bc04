import { clockJumpHoldMs } from '../../core/limits.ts'
import type { EngineFlags, SettingSource } from '../../store/settings.ts'

const dayMs = 86_400_000

export const sqliteFlags = {
  'no-mmap': {
    type: 'switch',
    help: 'with --data: no memory map; slower, but a bad sector does not end the process',
  },
  archive: {
    type: 'text',
    value: 'DIR',
    help: 'with --data: archive every commit in DIR, for restores to any time',
  },
  'archive-keep': {
    type: 'duration',
    value: 'TIME',
    help: 'how far back a restore can go: 90s, 30m, 24h, 7d',
    ...{ default: '7d', minMs: 1_000, maxMs: 3_650 * dayMs },
  },
  'archive-base': {
    type: 'duration',
    value: 'TIME',
    help: 'how often the archive copies the whole database file',
    ...{ default: '24h', minMs: 1_000, maxMs: 365 * dayMs },
  },
} satisfies EngineFlags

export interface ArchiveSettings {
  dir: string
  keepMs: number
  baseEveryMs: number
  /** Nothing is removed from the archive for this long after a start, and after a jump of the clock. */
  holdMs: number
  /** Tests set it: see archive/clock-watch.ts. */
  clock: string | undefined
}

export interface SqliteSettings {
  archive?: ArchiveSettings
  /** Reads go through SQLite's own page cache only: see docs/reference.md. */
  noMmap?: boolean
  /** Tests set it: see disk/fault-point.ts. */
  faults?: string
  /** Tests set another `idleMs` of checkpoint-policy.ts. */
  idleMs?: number
}

const readArchive = ({ text, durationMs, testVariable }: SettingSource): ArchiveSettings | undefined => {
  // Both are read in any case, so that a wrong value is refused.
  const [keepMs, baseEveryMs] = [durationMs('archive-keep'), durationMs('archive-base')]
  const dir = text('archive')
  const holdMs = Number(testVariable('CUBBY_TEST_ARCHIVE_HOLD_MS') ?? clockJumpHoldMs)
  return dir === undefined ? undefined : { dir, keepMs, baseEveryMs, holdMs, clock: testVariable('CUBBY_TEST_CLOCK') }
}

export const readSqliteSettings = (source: SettingSource): SqliteSettings => {
  const idleMs = source.testVariable('CUBBY_TEST_IDLE_MS')
  return {
    archive: readArchive(source),
    noMmap: source.isSet('no-mmap'),
    faults: source.testVariable('CUBBY_TEST_FAULTS'),
    idleMs: idleMs === undefined ? undefined : Number(idleMs),
  }
}
