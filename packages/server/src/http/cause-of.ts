/** Says where a thrown value came from, for the log. */
export const causeOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)
