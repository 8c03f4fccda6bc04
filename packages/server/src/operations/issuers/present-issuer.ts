import { CubbyError } from '../../core/errors.ts'
import { call } from '../../core/hint.ts'
import type { Issuer } from '../../store/users.ts'

export const presentIssuer = ({ name, declaration, createdAtMs, updatedAtMs }: Issuer): object => ({
  name,
  ...(JSON.parse(declaration) as object),
  createdAt: createdAtMs,
  updatedAt: updatedAtMs,
})

export const issuerJson = (issuer: Issuer): string => JSON.stringify(presentIssuer(issuer))

export const issuerNotFound = (name: string): CubbyError =>
  new CubbyError('issuer_not_found', `There is no issuer ${name}.`, {
    hint: ['The issuers of the organization: ', call('listIssuers')],
  })
