import { fileMetadataBytesMax } from '../../../../server/src/core/limits.ts'
import { parseIsoDateTime } from '../../../../server/src/core/text/iso-date-time.ts'
import type { FileRow } from '../../api/types.ts'
import { checkJson, checkRecord, recordBytes } from '../../text/check.ts'

// The facts of a file that can be changed, as the texts of a form.

export interface FileForm {
  visibility: string
  contentType: string
  /** A date-time, epoch seconds, or empty. */
  ttl: string
  /** JSON, exactly as stored. */
  metadata: string
}

const ttlTextOf = (ttl: number | undefined): string => {
  if (ttl === undefined) return ''
  const date = new Date(ttl * 1000)
  return Number.isNaN(date.getTime()) ? String(ttl) : date.toISOString().replace('.000', '')
}

export const formOf = ({ visibility, contentType, ttl, metadata }: FileRow): FileForm => ({
  visibility,
  contentType,
  ttl: ttlTextOf(ttl),
  metadata,
})

/** Epoch seconds; null: none; undefined: not a time. */
export const ttlOf = (text: string): number | null | undefined => {
  const typed = text.trim()
  if (typed === '') return null
  if (/^\d{1,15}$/.test(typed)) return Number(typed)
  const ms = parseIsoDateTime(typed)
  return ms === undefined ? undefined : Math.floor(ms / 1000)
}

export const ttlFault = (text: string): string | undefined =>
  ttlOf(text) === undefined ? 'This is not a time. Write 2027-01-31T12:00:00Z, or epoch seconds.' : undefined

export const metadataFault = (text: string): string | undefined => {
  const checked = checkRecord(text)
  if (!checked.ok) return checked.message
  const bytes = recordBytes(text)
  return bytes > fileMetadataBytesMax
    ? `metadata has ${bytes} bytes; it takes at most ${fileMetadataBytesMax}.`
    : undefined
}

/** The members with their JSON texts. */
const textsOf = ({ visibility, contentType, ttl, metadata }: FileForm): Record<keyof FileForm, string> => ({
  visibility: JSON.stringify(visibility),
  contentType: JSON.stringify(contentType.trim()),
  ttl: String(ttlOf(ttl) ?? null),
  metadata,
})

/** The body of the PATCH: what differs from `base`. Undefined if nothing does. */
export const patchOf = (form: FileForm, base: FileForm): string | undefined => {
  const before = textsOf(base)
  const changed = Object.entries(textsOf(form)).filter(([name, text]) => text !== before[name as keyof FileForm])
  return changed.length === 0 ? undefined : `{${changed.map(([name, text]) => `"${name}":${text}`).join(',')}}`
}

/** The whole form as JSON, to compare two versions. */
export const formText = (form: FileForm): string =>
  `{\n${Object.entries(textsOf(form))
    .map(([name, text]) => `  "${name}": ${checkJson(text).ok ? text : JSON.stringify(text)}`)
    .join(',\n')}\n}`
