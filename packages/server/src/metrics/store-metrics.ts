import { recoveryMs, sweepGraceMs } from '../core/limits.ts'
import type { Measures, StoreMeasures } from '../store/measures.ts'
import { type RunEvent, runEvents, type StoreObserver } from '../store/observer.ts'
import type { Gauge, Registry } from './registry.ts'

const commitBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
/** A commit has at most 256 requests: `commitRequestsMax`. */
const groupBuckets = [1, 2, 4, 8, 16, 32, 64, 128, 256]

/** Counts what an engine does in this process. */
export const countStore = (registry: Registry): StoreObserver => {
  const commits = registry.histogram({
    name: 'cubby_commit_duration_seconds',
    help: 'Time of a commit of the embedded engine, with its sync. Its count is the number of commits.',
    buckets: commitBuckets,
  })
  const groups = registry.histogram({
    name: 'cubby_commit_writes',
    help: 'Writes that shared a commit of the embedded engine. Its sum is the number of writes.',
    buckets: groupBuckets,
  })
  const runs = registry.counter({
    name: 'cubby_task_runs_total',
    help: 'Runs of tasks that were added or started, and the outcome of their attempts. retried: failed, and queued again.',
    labels: [{ name: 'outcome', values: runEvents }],
  })
  const cellOf = new Map<RunEvent, number>(runEvents.map((event, cell) => [event, cell]))
  return {
    committed(requests, ms) {
      commits.observe(ms / 1000)
      groups.observe(requests)
    },
    runs: (event, count) => runs.add(count, cellOf.get(event)),
  }
}

/** Measures what this process holds of the engine: with `--workers` the sum of all. */
const measureProcess = (registry: Registry, measures: Measures): void => {
  const gauge = (name: string, help: string): Gauge => registry.gauge({ name, help })
  const queued = gauge('cubby_write_queue_requests', 'Writes that wait for the writer of the embedded engine.')
  const queuedBytes = gauge('cubby_write_queue_bytes', 'Bytes of the writes that wait for the writer.')
  const inFlight = gauge('cubby_writes_in_flight', 'Writes that the writer has and has not committed yet.')
  const connections = registry.gauge({
    name: 'cubby_postgres_connections',
    help: 'Open connections to PostgreSQL.',
    labels: [{ name: 'state', values: ['idle', 'busy'] }],
  })
  const connectionsMax = gauge('cubby_postgres_connections_max', 'Connections that may be open: --pool-size.')
  const waits = gauge('cubby_postgres_waiting_requests', 'Requests that wait for a connection to PostgreSQL.')
  registry.collect([queued, queuedBytes, inFlight, connections, connectionsMax, waits], () => {
    const held = measures.process()
    queued.set(held.queuedWrites)
    queuedBytes.set(held.queuedWriteBytes)
    inFlight.set(held.writesInFlight)
    connections.set(held.connectionsIdle, 0)
    connections.set(held.connectionsBusy, 1)
    connectionsMax.set(held.connectionsMax)
    waits.set(held.connectionWaits)
  })
}

const sweeps = ['records', 'tables', 'files'] as const

/** Returns how long the rows that a sweep may remove have been waiting for it, in seconds; 0 if nothing waits. */
const sweepLags = (store: StoreMeasures, keepDeadBlobsMs: number, nowMs: number): number[] => {
  const since = {
    records: store.firstExpiryMs === undefined ? undefined : store.firstExpiryMs + sweepGraceMs,
    tables: store.firstDeletedMs === undefined ? undefined : store.firstDeletedMs + recoveryMs + sweepGraceMs,
    files: store.firstDueBlobMs === undefined ? undefined : store.firstDueBlobMs + keepDeadBlobsMs,
  }
  return sweeps.map((sweep) => Math.max(0, nowMs - (since[sweep] ?? nowMs)) / 1000)
}

/** The store itself: with `--workers` only the owner reads it. */
const measureStore = (registry: Registry, { measures, isOwner, keepDeadBlobsMs, now }: MeasuredStore): void => {
  const gauge = (name: string, help: string): Gauge => registry.gauge({ name, help, isOfStore: true })
  const gauges = {
    storeBytes: gauge('cubby_store_bytes', 'Size of the store with its indexes, with the bytes of small files.'),
    storeFreeBytes: gauge('cubby_store_free_bytes', 'Bytes in cubby.db that are free for new records.'),
    walBytes: gauge('cubby_wal_bytes', 'Size of cubby.db-wal.'),
    walPendingPages: gauge('cubby_wal_pending_pages', 'Pages of the WAL that are not in cubby.db yet.'),
    changesKept: gauge('cubby_changes_kept', 'Changes that tables keep, as the last round of their sweep found them.'),
    diskBytes: gauge('cubby_disk_bytes', 'Size of the file system of the data directory.'),
    partLost: gauge(
      'cubby_postgres_part_lost',
      '1 while some tables and tasks cannot be reached, because a worker of Citus is lost, otherwise 0.',
    ),
    diskFreeBytes: gauge('cubby_disk_free_bytes', 'Bytes that are free on it for this user.'),
  }
  const lag = registry.gauge({
    name: 'cubby_sweep_lag_seconds',
    help: 'The time that the oldest data that a sweep may remove has waited for it. Sweeps run every minute.',
    labels: [{ name: 'sweep', values: sweeps }],
    isOfStore: true,
  })
  if (!isOwner) return
  registry.collect([...Object.values(gauges), lag], async () => {
    const store = await measures.store()
    for (const [name, one] of Object.entries(gauges)) one.set(store[name as keyof typeof gauges])
    for (const [cell, seconds] of sweepLags(store, keepDeadBlobsMs, now()).entries()) lag.set(seconds, cell)
  })
}

/** Measures the archive: only the owner of an embedded store has one. */
const measureArchive = (registry: Registry, measures: Measures, isOwner: boolean, now: () => number): void => {
  const declared = (name: string, help: string) => ({ name: `cubby_archive_${name}`, help, isOfStore: true })
  const lag = registry.gauge(declared('lag_seconds', 'Age of the oldest write that is not in the archive yet.'))
  const failing = registry.gauge(declared('failing', '1 while the archive cannot be written, otherwise 0.'))
  const baseFailing = registry.gauge(
    declared('base_failing', '1 while a base that is due cannot be made, otherwise 0.'),
  )
  const gaps = registry.counter(declared('gaps_total', 'Gaps in the archive that began since the start.'))
  const bases = registry.counter(declared('bases_total', 'Bases that were completed since the start.'))
  const bytes = registry.counter(declared('bytes_total', 'Bytes of commits that were archived since the start.'))
  if (!isOwner) return
  registry.collect([lag, failing, baseFailing], async () => {
    const { archive } = await measures.store()
    if (archive === undefined) return
    lag.set(Math.max(0, now() - archive.coveredMs) / 1000)
    failing.set(archive.failingSinceMs === null ? 0 : 1)
    baseFailing.set(archive.baseCause === null ? 0 : 1)
    gaps.set(archive.gaps)
    bases.set(archive.bases)
    bytes.set(archive.bytesArchived)
  })
}

interface MeasuredStore {
  measures: Measures
  isOwner: boolean
  /** The time that the sweep of files keeps bytes longer than the store says, for the archive. */
  keepDeadBlobsMs: number
  now(): number
}

export const measureEngine = (registry: Registry, store: MeasuredStore): void => {
  const { measures, isOwner, now } = store
  measureProcess(registry, measures)
  measureStore(registry, store)
  measureArchive(registry, measures, isOwner, now)
}
