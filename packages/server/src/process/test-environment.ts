import { OperatorError } from '../core/operator-error.ts'

/**
 * The value of a CUBBY_TEST_ variable. Outside of tests it is rejected: these variables move the clock, which decides what
 * has expired, or make threads fail.
 */
export const testVariable = (env: Record<string, string | undefined>, name: string): string | undefined => {
  const value = env[name]
  if (value !== undefined && env.NODE_ENV !== 'test') {
    throw new OperatorError(`${name} is for tests only: it needs NODE_ENV=test`)
  }
  return value
}
