import type { Skipped } from '../results.ts'
import type { Settings } from '../settings.ts'

/** What every suite is given. */
export interface Context {
  settings: Settings
  say(line: string): void
  /** What was not measured, and why: shown with the results. */
  skip(skipped: Skipped): void
}
