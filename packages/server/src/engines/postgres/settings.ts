import type { EngineFlags, SettingSource } from '../../store/settings.ts'

export const postgresFlags = {
  'pool-size': {
    type: 'count',
    value: 'N',
    help: 'with --store: connections to the database',
    default: 8,
    min: 1,
    max: 1_000,
  },
  'statement-timeout': {
    type: 'count',
    value: 'MS',
    help: 'with --store: how long a statement may take, in milliseconds',
    default: 5_000,
    min: 1,
    max: 600_000,
  },
} satisfies EngineFlags

export interface PostgresSettings {
  /** The pool opens at most this many connections to the database. */
  poolSize?: number
  /** A statement may take this long. */
  statementMsMax?: number
  /**
   * The clock that sweeps use: the earlier of the database's and the caller's, unless tests move time. Tasks and runs use the
   * database's.
   */
  sweepClock?: 'database' | 'caller'
  /** The lease of a store that is created now. An existing store keeps its own. */
  leaseMs?: number
}

export const readPostgresSettings = ({ count, testVariable }: SettingSource): PostgresSettings => {
  const leaseMs = testVariable('CUBBY_TEST_LEASE_MS')
  return {
    poolSize: count('pool-size'),
    statementMsMax: count('statement-timeout'),
    sweepClock: testVariable('CUBBY_TEST_CLOCK') === undefined ? 'database' : 'caller',
    leaseMs: leaseMs === undefined ? undefined : Number(leaseMs),
  }
}
