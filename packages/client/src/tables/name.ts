import { refusal } from '../transport/errors.ts'
import { matches } from '../transport/matches.ts'

const namePattern = /^[a-z0-9_-]{1,64}$/

/** Checks the name of a database, table, bucket or task before it goes into a path. */
export const checkName = (name: string, field: string): string => {
  if (matches(namePattern, name)) return name
  throw refusal('invalid_name', field, `is ${JSON.stringify(name)}; it takes a string: [a-z0-9_-]{1,64}.`)
}
