import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { fileNameBytesMax, fileNameSegmentsMax } from '../limits.ts'

const refuse = (field: string, message: string, hint?: string): never => {
  throw new CubbyError('invalid_key', `${field} ${message}`, { field, hint })
}

const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/

/** The name of a file: `/` divides it into segments. */
export const parseFileName = (value: unknown, field = 'name'): string => {
  if (typeof value !== 'string') {
    return refuse(field, `is ${describeValue(value)}; it takes a string.`, 'Give the name of the file: "cats/tom.png".')
  }
  if (value.length === 0) return refuse(field, `is empty; it takes 1 to ${fileNameBytesMax} bytes of UTF-8.`)
  if (!value.isWellFormed()) return refuse(field, 'has a lone surrogate; it takes well-formed Unicode.')
  const bytes = Buffer.byteLength(value)
  if (bytes > fileNameBytesMax) {
    return refuse(field, `has ${bytes} bytes; it takes at most ${fileNameBytesMax}.`, 'Shorten the name.')
  }
  const control = controlCharacter.exec(value)
  if (control !== null) {
    const code = control[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')
    return refuse(field, `has the control character U+${code}.`, 'Remove it.')
  }
  const segments = value.split('/')
  if (segments.length > fileNameSegmentsMax) {
    return refuse(field, `has ${segments.length} segments; it takes at most ${fileNameSegmentsMax}.`, 'Use fewer "/".')
  }
  if (segments.includes('')) {
    return refuse(field, 'has an empty segment.', 'A name does not begin or end with "/", and has no "//".')
  }
  if (segments.includes('.') || segments.includes('..')) {
    return refuse(field, 'has a segment "." or "..", which URL parsers drop from paths.', 'Use another name.')
  }
  return value
}
