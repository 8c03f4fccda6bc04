/** A flag of `cubby serve` that sets an option of one engine. */
export type EngineFlag =
  | { type: 'count'; value: string; help: string; default: number; min: number; max: number }
  | { type: 'switch'; help: string }
  | { type: 'text'; value: string; help: string }
  /** The text of a duration, such as `24h`. */
  | { type: 'duration'; value: string; help: string; default: string; minMs: number; maxMs: number }

export type EngineFlags = Record<string, EngineFlag>

/** The checked values of the engine's flags. */
export interface FlagValues {
  count(flag: string): number
  isSet(flag: string): boolean
  text(flag: string): string | undefined
  durationMs(flag: string): number
}

/** The source of an engine's settings. */
export interface SettingSource extends FlagValues {
  /** The value of an environment variable that is for tests only. */
  testVariable(name: string): string | undefined
}
