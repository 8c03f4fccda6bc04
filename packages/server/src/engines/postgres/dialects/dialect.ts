/** How the databases that speak PostgreSQL's protocol differ. Each of them has a file in this folder. */
export interface Dialect {
  /** For the start-up line: `postgres 18.4`. */
  description: string
  /** Settings of every session. */
  settings: string[]
  /** Settings that keep the planner to index scans. */
  planning: string[]
  /** The isolation level of transactions. */
  isolation: 'read committed' | 'serializable'
  /** The column type of names. They sort by bytes. */
  nameType: string
  /**
   * Whether the primary key of records is created after the other indexes. PostgreSQL's planner takes the newest of
   * indexes that cost the same. In an empty store the primary key and the index by time cost the same for a get, and
   * that plan is kept: so the primary key must be the newest.
   */
  addsPrimaryKeyLast: boolean
  /** Session settings before tables are created. */
  beforeSchema: string[]
  /** SQL after the tables are created, in the same transaction. */
  afterSchema: string[]
  /** Whether DDL is transactional. If not, every statement of a migration commits by itself. */
  hasTransactionalDdl: boolean
  /** Whether records are spread over other servers, so that not every DDL statement is possible on their table. */
  distributesRecords: boolean
  /** Whether every session has its own process id for as long as it lasts. */
  hasBackendIds: boolean
  /** Whether advisory locks work. Set-up and migrations use one. */
  hasAdvisoryLocks: boolean
  /** Whether all statements before one Sync are one transaction. If not, BEGIN and COMMIT are sent with them. */
  pipelinesAreTransactions: boolean
  /** Whether a write statement itself checks that its API key and table are active. */
  guardsWrites: boolean
  /** Whether a batch of puts is sent as one statement with arrays. */
  putsFromArrays: boolean
  /** Whether `pg_locks` lists the transactions that write, so that a revocation can wait for them. */
  listsWriters: boolean
  /** Whether one statement may touch the records of many tables, to remove expired ones or to find stray ones. */
  namesManyTables: boolean
}

/** What the server reports about itself. */
export interface ServerFacts {
  /** The whole text of `version()`. */
  version: string
  /** `server_version`: 18.4. */
  number: string
  /** `server_version_num`: 180004. */
  numeric: number
  encoding: string
  /** Undefined if the server has no such setting. */
  fsync: string | undefined
  /** Undefined if the records are not in PostgreSQL's own data files. */
  dataChecksums?: string | undefined
  citus: string | undefined
}

/** The first SQL of every session. Its last row says whether the session may write. */
export const openingOf = ({ settings, isolation, planning }: Dialect): string =>
  [
    ...settings,
    `set default_transaction_isolation = '${isolation}'`,
    ...planning,
    `select current_setting('transaction_read_only')`,
  ].join('; ')
