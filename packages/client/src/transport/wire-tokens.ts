// The JSON bodies of the requests and responses about user tokens and issuers, as in wire.ts.

import type { Slot } from './wire.ts'

// ── Grants ───────────────────────────────────────────────────────────────────────────────────────────────────

/** A hash key, or every hash key that begins with a text. */
export type HashMatch = string | { readonly beginsWith: string }

/** Records of a table. Without `hash`: the whole table. `write` includes `read`. */
export type TableGrant = {
  readonly db: string
  readonly table: string
  readonly hash?: HashMatch
  readonly index?: never
} & (
  | { readonly can: 'read'; readonly sizeMax?: never }
  | {
      readonly can: 'write'
      /** The most bytes of `data`. */
      readonly sizeMax?: number
    }
)

/** Queries of an index with one hash value: whole records, whoever wrote them. */
export interface IndexGrant {
  readonly db: string
  readonly table: string
  readonly index: Slot
  readonly hash: string | number | boolean
  readonly can: 'read'
}

/** Files whose names begin with `prefix`, which ends with `/`. Without `prefix`: the whole bucket. `write` includes `read`. */
export type BucketGrant = { readonly db: string; readonly bucket: string; readonly prefix?: string } & (
  | { readonly can: 'read'; readonly sizeMax?: never }
  | {
      readonly can: 'write'
      /** The most bytes of a file. */
      readonly sizeMax?: number
    }
)

/** Adding runs with a `payload` alone, and reading and cancelling those that the user has added. */
export interface TaskGrant {
  readonly db: string
  readonly task: string
  readonly can: 'run'
}

export type Grant = TableGrant | IndexGrant | BucketGrant | TaskGrant

// ── Tokens ───────────────────────────────────────────────────────────────────────────────────────────────────

/** `POST /api/tokens`. */
export interface CreateTokenRequest {
  /** The name that your application has for this person: 1 to 256 bytes of UTF-8 without control characters. */
  user: string
  /** 1 to 25. A request is allowed if one of them allows it. */
  grants: readonly Grant[]
  /** Seconds, 60 to 86,400; 3,600 if absent. The token also ends when the API key that made it does. */
  expiresIn?: number
}

/** `GET /api/tokens/self`: what the calling token allows. */
export interface OwnToken {
  user: string
  grants: Grant[]
  expiresAt: number
}

export interface CreateTokenResponse extends OwnToken {
  /** `svc_user_…`. The service does not store it. */
  token: string
}

/** `POST /api/tokens/exchange`. */
export interface ExchangeTokenRequest {
  /** The signed JWT of a login service. */
  token: string
}

/** `POST /api/tokens/revoke`. */
export interface RevokeUserRequest {
  user: string
}

export interface RevokeUserResponse {
  user: string
  revokedAt: number
}

// ── Issuers ──────────────────────────────────────────────────────────────────────────────────────────────────

/** A JWKS: 1 to 20 public keys. */
export interface IssuerKeys {
  readonly keys: readonly Readonly<Record<string, unknown>>[]
}

interface IssuerDeclaration {
  /** The `iss` of its tokens. */
  issuer: string
  /** Their `aud` is this, or contains it. */
  audience: string
  /** The user, with claims in braces; `<name>:{sub}` if absent. */
  user?: string
  /** In `db`, `hash` and `prefix`, `{claim}` stands for a claim of the login token. */
  grants: readonly Grant[]
}

/** `PUT /api/issuers/:name`: with its public keys, or the address where it publishes them. */
export type PutIssuerRequest = IssuerDeclaration &
  ({ keys: IssuerKeys; keysUrl?: never } | { keysUrl: string; keys?: never })

/** A login service whose tokens are exchanged. */
export type Issuer = PutIssuerRequest & { name: string; createdAt: number; updatedAt: number }

/** `GET /api/issuers`. */
export interface ListIssuersResponse {
  issuers: Issuer[]
}

/** `DELETE /api/issuers/:name`. */
export interface DeleteIssuerResponse {
  /** False if there was no issuer of that name. */
  deleted: boolean
}
