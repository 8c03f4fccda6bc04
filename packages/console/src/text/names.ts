const pattern = /^[a-z0-9_-]{1,64}$/

const isName = (name: string): boolean => pattern.test(name) && !name.startsWith('_')

/** `App/Order Items` was probably meant as `order-items`. */
const hintOf = (name: string): string => {
  const rule = 'Use 1 to 64 lower-case letters, digits, "_" or "-"'
  if (name.length > 80) return `${rule}.`
  const meant = name
    .toLowerCase()
    .replace(/^.*[/.]/, '')
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .replaceAll(/^[_-]+|-+$/g, '')
  return isName(meant) ? `${rule}, for example "${meant}".` : `${rule}.`
}

/**
 * Why the server would not take this as the name of a database, table, bucket or task, in its words, with its hint; undefined
 * if it would. `what` is how the sentence begins.
 */
export const nameFault = (text: string, what = 'The name'): string | undefined => {
  if (!pattern.test(text)) {
    const found = JSON.stringify((text.length > 80 ? `${text.slice(0, 80)}…` : text).toWellFormed())
    return `${what} is ${found}; a name matches [a-z0-9_-]{1,64}. ${hintOf(text)}`
  }
  if (!text.startsWith('_')) return undefined
  const meant = text.replace(/^_+/, '') || 'name'
  return `${what} is "${text}"; names that start with "_" are reserved. Drop the leading "_": "${meant}".`
}
