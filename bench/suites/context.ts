import type { Skipped } from '../results.ts'
import type { Settings } from '../settings.ts'

/** The parameters of every suite. */
export interface Context {
  settings: Settings
  say(line: string): void
  /** Reports what was not measured and why. It is shown with the results. */
  skip(skipped: Skipped): void
}
