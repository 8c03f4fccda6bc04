import { OperatorError } from '../../core/operator-error.ts'
import type { ClosedStore } from '../../store/closed-store.ts'
import { openPostgresEngine } from './engine.ts'
import type { PostgresSettings } from './settings.ts'

const noBackup = (instead: string): OperatorError =>
  new OperatorError(`backup is for the embedded engine; with PostgreSQL use ${instead} (docs/engines.md)`)

export const postgresStore = (url: string, settings: PostgresSettings = {}, urlGivenAs?: string): ClosedStore => ({
  describe() {
    const { protocol, host, pathname } = new URL(url)
    return `${protocol}//${host}${pathname}`
  },

  open: ({ mustExist, log, observer }) =>
    openPostgresEngine({ url, urlGivenAs, mustExist, log, observer, ...settings }),

  openWorker(channel, log, observer) {
    channel.onClose(() => process.exit(1))
    return openPostgresEngine({ url, urlGivenAs, log, observer, ...settings })
  },

  workerExitHint: () => undefined,

  async createBackup() {
    throw noBackup('pg_dump')
  },

  async streamBackup() {
    throw noBackup('pg_dump')
  },

  async restoreBackup() {
    throw noBackup('pg_restore')
  },

  async compact() {
    throw new OperatorError(
      'compact is for the embedded engine; PostgreSQL reuses space by itself (autovacuum), and VACUUM FULL gives it back (docs/engines.md)',
    )
  },
})
