/** The bytes from `start` to before `end`. */
export interface ByteRange {
  start: number
  end: number
}

/** One range is shorter. A list may have thousands, and is not read. */
const headerCharactersMax = 200

const rangeForm = /^bytes=(.*)$/i
const elementForm = /^(?:([0-9]+)-([0-9]*)|-([0-9]+))$/

/**
 * Parses a Range header (RFC 9110, section 14.2) for a file with `size` bytes. Returns undefined for the whole file: the header
 * is malformed, of another unit, or names several ranges. A server may always answer with the whole file.
 */
export const parseByteRange = (header: string, size: number): ByteRange | 'unsatisfiable' | undefined => {
  if (header.length > headerCharactersMax) return undefined
  const list = rangeForm.exec(header.trim())?.[1]
  if (list === undefined) return undefined
  // Empty elements of a list are ignored.
  const elements = list.split(',').flatMap((element) => element.trim() || [])
  const parts = elements.length === 1 ? elementForm.exec(elements[0]!) : null
  if (parts === null) return undefined
  const [, first, last, suffix] = parts
  if (suffix !== undefined) {
    const bytes = Math.min(Number(suffix), size)
    return bytes === 0 ? 'unsatisfiable' : { start: size - bytes, end: size }
  }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return undefined
  if (start >= size) return 'unsatisfiable'
  return { start, end: last === '' ? size : Math.min(Number(last) + 1, size) }
}

export const contentRange = ({ start, end }: ByteRange, size: number): string => `bytes ${start}-${end - 1}/${size}`

export const unsatisfiedRange = (size: number): string => `bytes */${size}`
