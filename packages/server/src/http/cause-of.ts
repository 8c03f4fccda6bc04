/** For the log: where a thrown value came from. */
export const causeOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)
