import { CubbyError } from '../index.ts'

/** The service has answered, and would answer so again. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof CubbyError &&
  error.status >= 400 &&
  error.status < 500 &&
  error.status !== 429 &&
  error.code !== 'internal'
