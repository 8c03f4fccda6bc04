import { refusal } from '../transport/errors.ts'

const namePattern = /^[a-z0-9_-]{1,64}$/

/** Checks the name of a database or table before it goes into a path. */
export const checkName = (name: string, field: string): string => {
  if (!namePattern.test(name)) throw refusal('invalid_name', field, `is "${name}"; it takes [a-z0-9_-]{1,64}.`)
  return name
}
