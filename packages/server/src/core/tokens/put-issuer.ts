import { issuersMax } from '../limits.ts'

interface Named {
  name: string
  declaration: string
  identity: string
}

/** What a put does to the issuers of an organization. */
type IssuerChange<T> =
  | { outcome: 'write'; present: T | undefined }
  | { outcome: 'same'; present: T }
  | { outcome: 'tooMany' }
  | { outcome: 'taken'; name: string }

export const changeIssuers = <T extends Named>(issuers: readonly T[], put: Named): IssuerChange<T> => {
  const present = issuers.find(({ name }) => name === put.name)
  if (present?.declaration === put.declaration) return { outcome: 'same', present }
  const other = issuers.find(({ name, identity }) => name !== put.name && identity === put.identity)
  if (other !== undefined) return { outcome: 'taken', name: other.name }
  if (present === undefined && issuers.length >= issuersMax) return { outcome: 'tooMany' }
  return { outcome: 'write', present }
}
