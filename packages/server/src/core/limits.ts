// The limits that a user or an operator can reach. Each has a row in docs/http-api.md ("Limits") or docs/reference.md
// ("Bounds of a process"), which a test compares with this file. A constant that only tunes one file is in that file.
// The unit is last in the name.

const KIB = 1024
const MIB = 1024 * KIB
const GIB = 1024 * MIB

// Requests.
/** A put, a patch, a find, a run, a finish or the declaration of a task. */
export const bodyBytesMax = 1 * MIB
export const batchBodyBytesMax = 12 * MIB
/** A body without a record: a query, a table's declaration, a restore, an API key. */
export const plainBodyBytesMax = 64 * KIB
/** The request line and all headers together. Bun's own limit, so this constant only tells it. */
export const requestHeadBytesMax = 16 * KIB
export const keyBytesMax = 1_024
export const dataBytesMax = 409_600
export const dataDepthMax = 64
export const ttlSecondsMax = 253_402_300_799
/** The ttl of a put may be this far in the past. An earlier one is a mistake. */
export const ttlPastSecondsMax = 86_400
export const batchOperationsMax = 25
/** The operations of a batch over several tables, and the tables and tasks that it names. */
export const databaseBatchOperationsMax = 100
export const databaseBatchTablesMax = 25
export const findKeysMax = 100
/** A line of a load. */
export const loadLineBytesMax = 1 * MIB
/** A load is stored in commits of at most so many lines, and so many bytes of `data`. */
export const loadCommitLinesMax = 1_000
export const loadCommitBytesMax = 1 * MIB
/** The refused lines that the answer to a load names; others are only counted. */
export const loadErrorsMax = 100
/** The pointers of a patch, those of `increment` and `append` together. */
export const patchPointersMax = 25
/** The significant digits of a number that a patch adds to, of what it adds and of the sum. */
export const patchDigitsMax = 40
export const indexFieldCharactersMax = 255
export const indexStringBytesMax = 1_024
export const fileBytesMax = 5 * GIB
/**
 * The bytes of a file with a declared length up to this are held in memory until all have arrived. Larger ones are streamed.
 */
export const smallUploadBytesMax = 64 * KIB
/** The bytes of files up to this size are in the store, in the commit of their record, unless the blob store is S3. */
export const storeFileBytesMax = 16 * KIB
export const fileNameBytesMax = 1_024
export const fileNameSegmentsMax = 16
export const fileMetadataBytesMax = 2_048
export const contentTypeCharactersMax = 255
export const downloadNameCharactersMax = 255
export const urlSecondsDefault = 900
export const urlSecondsMax = 604_800
/** A signed URL has ten at most. */
export const signedParametersMax = 16
/** A signed URL that ends later than `urlSecondsMax` and this much from now is not one that this store gave out. */
export const urlClockMsMax = 5 * 60 * 1000
export const requestIdCharactersMax = 128
export const idempotencyKeyCharactersMax = 255
/** An idempotency key is kept at least this long, and is then swept. */
export const idempotencyKeyMs = 24 * 60 * 60 * 1000
/** Of more idempotency keys of one organization the oldest are removed earlier. */
export const idempotencyKeysMax = 1_000_000
/** The time between two counts of the idempotency keys of all organizations. */
export const idempotencyCountEveryMs = 10 * 60 * 1000
export const keyNameCharactersMax = 128
export const keyDatabasesMax = 100
/** A key that is rolled ends after this time, unless the request says when. */
export const rollOverlapMs = 24 * 60 * 60 * 1000
export const rollOverlapMsMax = 366 * 24 * 60 * 60 * 1000
/** The one key that the key of a sign-in link creates ends so far ahead at most. */
export const linkSessionMsMax = 12 * 60 * 60 * 1000
/** Our longest cursor is far below this; a longer one is not ours. */
export const cursorCharactersMax = 16 * KIB

// Answers.
export const pageRowsDefault = 100
export const pageRowsMax = 1_000
/** Records that one query with `select: "count"` counts. */
export const countRowsMax = 10_000
export const pageBytesMax = 1 * MIB
/** Entries of a log that one page of changes looks at. */
export const changesLookedAtMax = 10_000
/** Expired rows that one page may skip before it ends early, with a cursor. */
export const pageExpiredRowsMax = 10_000

// Tools of agents: what they answer goes into the context of a model.
/** The JSON of one response of a tool. */
export const toolResponseBytesMax = 40_000
/** Records or keys in one call. */
export const toolRecordsMax = 25
/** Messages in one body. */
export const toolMessagesMax = 25
export const toolRowsDefault = 20
export const toolRowsMax = 100
/** Members of `data` that a query may pick. */
export const toolFieldsMax = 50
/** Addresses of the server for which the pages for agents are kept: callers choose the address. */
export const agentBasesMax = 8
/** The pages are made for another address and compressed at most this often; meanwhile they are sent without being kept. */
export const agentPagesEveryMs = 1_000

// Resources of a process. Of a shared resource, an organization may hold half of what the others leave, and an API key half
// of that: see shares.ts.
export const bodiesInFlightBytesMax = 128 * MIB
export const bodyMsMax = 30_000
/** A body may arrive in this many chunks, and one more for each `bodyChunkBytesMin` bytes: each costs about 2 µs. */
export const bodyChunksFreeMax = 4_096
export const bodyChunkBytesMin = 256
/** Answers that clients have not read yet. */
export const responsesUnsentBytesMax = 64 * MIB
/** A client that reads nothing of a large answer for this long is disconnected. */
export const responseIdleSecondsMax = 10
/** Uploads of files at once, of one organization, and on one signed URL. */
export const uploadsMax = 64
export const uploadsOfOrganizationMax = 48
export const uploadsOfUrlMax = 4
/** Loads at once, and those of one organization, which may also hold at most half of what the others leave. */
export const loadsMax = 32
export const loadsOfOrganizationMax = 4
/** A load waits this long for a store that takes no writes, or for its turn, before it ends. */
export const loadWaitMsMax = 30_000
/** An upload or a load must bring this much, or the rest, in every `fileIdleMsMax` that the server waits for it. */
export const uploadProgressBytesMin = 64 * KIB
/** A reader of a file that takes nothing for this long is cut. */
export const fileIdleMsMax = 30_000
/** When an organization's room for unread answers is used up, its slowest reader of a file below this is cut. */
export const readerBytesPerSecondMin = 8 * KIB
/** A reader is not judged before. */
export const readerCheckedAfterMs = 5_000
export const requestsInFlightMax = 16_384
/** The longest time that a request waits for its turn. */
export const turnMsMax = 5_000
export const connectionIdleSecondsMax = 60
export const writeQueueRequestsMax = 8_192
export const writeQueueBytesMax = 128 * MIB
/** Connections to the address of --metrics; each is one request. */
export const metricsConnectionsMax = 32
/** The longest time that one of them may take to send its request. */
export const metricsRequestMsMax = 2_000
/** Requests that wait for a connection to PostgreSQL, shared as above. */
export const connectionQueueRequestsMax = 4_096
/** One commit has at most this much, or one request: one organization's backlog must not become another's latency. */
export const commitRequestsMax = 256
export const commitBytesMax = 8 * MIB
export const apiKeyCacheEntriesMax = 10_000
export const tableCacheEntriesMax = 50_000
export const lastUsedEntriesMax = 50_000

// Time.
export const recoveryMs = 7 * 24 * 60 * 60 * 1000
/** Cursors and signed URLs of an earlier secret are accepted for this long after its rotation. */
export const earlierSecretMs = 7 * 24 * 60 * 60 * 1000
export const earlierSecretsMax = 8
/** Sweeps delete this long after the deadline: a clock that jumps must not destroy data. */
export const sweepGraceMs = 5 * 60 * 1000
/** Sweeps ignore a clock that has jumped ahead for this long, so that an operator can set it back. */
export const clockJumpHoldMs = 60 * 60 * 1000
export const sweepEveryMs = 60_000
/** Rows that one step of a sweep removes: few, because the writes of a whole commit wait for it. */
export const sweepRowsMax = 50
/** Rows per step when records of version 0.1 get their checksums. Neighbouring rows share pages, so this is cheap. */
export const checksumRowsMax = 100
/** Bytes that no record refers to any more are kept for this long, so that a download that has begun can finish. */
export const deadBlobMs = 60 * 60 * 1000
/** Bytes of an upload that never ended are kept for this long after its last progress. */
export const pendingBlobMs = 24 * 60 * 60 * 1000
export const lastUsedFlushMs = 30_000
export const stopMsMax = 10_000

// Changes.
export const keepHoursDefault = 24
export const keepHoursMax = 168
/**
 * Streams of changes and requests that wait for changes, of one process. Of these, an organization may hold half of what the
 * others leave, and an API key half of what the other keys leave of that.
 */
export const followersMax = 2_000
/** A stream ends after this time, and its reader comes again. */
export const streamMsMax = 60 * 60 * 1000
/** Something is sent on a stream at least so often. */
export const streamSilenceMs = 15_000
/** Bytes that wait for the readers of all streams, or are being read for them. */
export const streamsUnsentBytesMax = 64 * MIB
/** A reader of a stream that takes nothing of what waits for it for this long is cut. */
export const streamIdleMsMax = 10_000

// Tasks.
export const runIdCharactersMax = 128
export const runDelaySecondsMax = 31_536_000
export const leaseSecondsDefault = 30
export const leaseSecondsMax = 3_600
/** The longest lease of a task whose runs are pushed: no response takes longer, unless the lease is extended. */
export const pushLeaseSecondsMax = 300
export const attemptsDefault = 12
export const attemptsMax = 50
export const backoffSecondsDefault = 5
export const backoffSecondsMax = 3_600
export const concurrencyMax = 1_000
export const pushConcurrencyDefault = 10
export const keepSecondsDefault = 604_800
export const keepSecondsMin = 60
export const keepSecondsMax = 7_776_000
export const authorizationCharactersMax = 1_024
export const pushUrlCharactersMax = 2_048
export const scheduleSecondsMax = 31_536_000
/** The most tasks that follow one table. */
export const followersOfTableMax = 5
export const cronCharactersMax = 512
/** The runs of a task are counted up to here, by status; in a listing, which has many tasks, up to the lower limit. */
export const runsCountedMax = 1_000
export const runsCountedInListingMax = 100
/** A page of a listing with counts has at most this many tasks: counting more would keep others waiting. */
export const tasksCountedMax = 100
export const claimRunsMax = 100
/** The payloads of one claim, but at least one run. */
export const claimBytesMax = 1 * MIB
export const waitSecondsMax = 20
export const progressBytesMax = 4_096
export const retryAfterSecondsMax = 86_400
export const errorMessageCharactersMax = 1_000
/** Interim answers (1xx) before the answer to a push, and their bytes. */
export const pushInterimResponsesMax = 16
export const pushInterimBytesMax = 64 * KIB
/** The status line and all headers of the answer. */
export const pushResponseHeadBytesMax = 16 * KIB
/** The body of the answer; a longer one is dropped. */
export const pushResponseBytesMax = 64 * KIB
/** Sizes, extensions and trailers of a body in chunks, beside the five bytes that a chunk for each byte would need. */
export const pushFramingBytesMax = 16 * KIB
/** Pushes of one process at once; an organization holds at most half of them. */
export const pushesMax = 256
/** The time between two polls for runs that another process has added, and for expired leases. */
export const taskPollEveryMs = 500
/** Requests of a process that wait for a run; an organization holds at most half of them. */
export const waitsMax = 4_096

// User tokens.
export const userBytesMax = 256
export const tokenCharactersMax = 4_096
export const grantsMax = 25
export const tokenSecondsMin = 60
export const tokenSecondsDefault = 3_600
export const tokenSecondsMax = 86_400
/** Tokens that a process has read once. Each counts with its text and what was made of it. */
export const tokenCacheBytesMax = 16 * MIB
export const uploadsOfUserMax = 4
/** Waits and streams of a user, in one process. */
export const waitsOfUserMax = 16
/** Idempotency keys of a user that are kept. */
export const idempotencyKeysOfUserMax = 1_000
/** Revocations of users are kept for so long: no token and no login token that one of them refuses lives longer. */
export const revocationMs = 48 * 60 * 60 * 1000
/** Revocations and changes of issuers whose state a process remembers. */
export const userCacheEntriesMax = 50_000
export const issuersMax = 20
export const loginTokenCharactersMax = 16_384
export const loginTokenAgeSecondsMax = 86_400
export const loginClockSecondsMax = 60
export const issuerKeysMax = 20
/** The stored declaration of an issuer, with its keys and grants. */
export const issuerBytesMax = 32 * KIB
export const issuerTextBytesMax = 1_024
export const exchangedTokenSecondsMax = 3_600
/** Sets of keys that a process fetches at once, and those of one organization. */
export const keyFetchesMax = 16
export const keyFetchesOfOrgMax = 2
/** The fetched keys that a process keeps. */
export const fetchedKeysBytesMax = 16 * MIB
