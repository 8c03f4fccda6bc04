export type LogLevel = 'info' | 'warn' | 'error'

/** One event with its fields. No API key ever is among them. */
export type Log = (level: LogLevel, message: string, fields?: Record<string, unknown>) => void
