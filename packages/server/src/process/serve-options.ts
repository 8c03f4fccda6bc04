import type { Log } from '../core/log.ts'
import type { Allow } from '../push/allow.ts'
import type { ClosedStore } from '../store/closed-store.ts'
import type { Clock } from './clock.ts'

export interface ServeOptions {
  store: ClosedStore
  host: string
  port: number
  /** The address at which callers reach the server, if it is not the one that it listens on. */
  publicUrl: string | undefined
  /** The location of the bytes of files: a directory, or a URL. */
  files: string | undefined
  /** True if the operator chose it. */
  filesAreGiven: boolean
  /** True if the place of another store is taken over. */
  adoptsFiles: boolean
  /** True if the store keeps the bytes of small files itself. Undefined: if their place is a directory. */
  smallFilesInStore: boolean | undefined
  /** The time that the sweep keeps bytes that no file refers to any more, beyond the usual hour: for restores to a time. */
  keepDeadBlobsMs: number
  /** The flags with which a command finds the same store: for the line that says how to create a key. */
  storeFlags: string
  /** Networks to which runs may be pushed although they are not public. */
  pushAllow: Allow
  /** False with --no-tasks: nothing is pushed or scheduled, and claims answer empty. */
  handsOutTasks: boolean
  /** False with --no-console. */
  hasConsole: boolean
  /** False with --no-mcp. */
  hasMcp: boolean
  /** Origins of web pages that may use the tools of agents. */
  allowedOrigins: readonly string[]
  /** The number of processes that serve requests; with 1, this process serves them itself. */
  workers: number
  /** Create the first organization on an empty store. */
  bootstrap: boolean
  logRequests: boolean
  /** Log requests that took at least so long; undefined: none. */
  logSlowMs: number | undefined
  /** The address at which the metrics are served; undefined: nothing is counted. */
  metrics: { host: string; port: number } | undefined
  clock: Clock
  log: Log
  /** Prints a line on standard output, for the keys of the first organization: they must not be in the log. */
  print(line: string): void
}
