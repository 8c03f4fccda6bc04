import type { Grant } from '../../core/tokens/grants.ts'

/** A token that was made. */
export interface TokenOutput {
  token: string
  user: string
  grants: readonly Grant[]
  expiresAtMs: number
  created: true
}

export const presentToken = ({ token, user, grants, expiresAtMs }: TokenOutput): string =>
  JSON.stringify({ token, user, grants, expiresAt: expiresAtMs })
