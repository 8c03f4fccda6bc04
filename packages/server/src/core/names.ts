import { describeValue } from './describe-value.ts'
import { CubbyError } from './errors.ts'

const pattern = /^[a-z0-9_-]{1,64}$/

/** Tells whether `parseName` takes it. */
export const isName = (name: unknown): name is string =>
  typeof name === 'string' && pattern.test(name) && !name.startsWith('_')

/** `App/Order Items` was probably meant as `order-items`. */
const nameHint = (name: unknown): string => {
  const rule = 'Use 1 to 64 lower-case letters, digits, "_" or "-"'
  if (typeof name !== 'string' || name.length > 80) return `${rule}.`
  const meant = name
    .toLowerCase()
    .replace(/^.*[/.]/, '')
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .replaceAll(/^[_-]+|-+$/g, '')
  return isName(meant) ? `${rule}, for example "${meant}".` : `${rule}.`
}

/**
 * Names of databases, tables and organizations follow one rule. `field` is what the error names; `what` is how its message
 * begins, for a name that is a part of the field.
 */
export const parseName = (name: unknown, field: string, what = field): string => {
  if (typeof name !== 'string' || !pattern.test(name)) {
    throw new CubbyError('invalid_name', `${what} is ${describeValue(name)}; a name matches [a-z0-9_-]{1,64}.`, {
      field,
      hint: nameHint(name),
    })
  }
  if (name.charCodeAt(0) === 0x5f) {
    throw new CubbyError('reserved_name', `${what} is "${name}"; names that start with "_" are reserved.`, {
      field,
      hint: `Drop the leading "_": "${name.replace(/^_+/, '') || 'name'}".`,
    })
  }
  return name
}
