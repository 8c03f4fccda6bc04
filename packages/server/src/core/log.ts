export type LogLevel = 'info' | 'warn' | 'error'

/** One event with its fields. Fields never contain an API key. */
export type Log = (level: LogLevel, message: string, fields?: Record<string, unknown>) => void
