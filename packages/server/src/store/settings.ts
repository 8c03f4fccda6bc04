/** A flag of `cubby serve` that sets an option of one engine. */
export type EngineFlag =
  | { type: 'count'; value: string; help: string; default: number; min: number; max: number }
  | { type: 'switch'; help: string }

export type EngineFlags = Record<string, EngineFlag>

/** What was given for the engine's flags, checked. */
export interface FlagValues {
  count(flag: string): number
  isSet(flag: string): boolean
}

/** Where an engine's settings come from. */
export interface SettingSource extends FlagValues {
  /** The value of an environment variable that is for tests only. */
  testVariable(name: string): string | undefined
}
