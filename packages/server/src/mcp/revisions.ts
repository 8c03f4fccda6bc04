// The revisions of the Model Context Protocol that we speak, and what differs between them. Everything else is the same for
// all: results carry the members of the newest revision, and older clients ignore what they do not know.

export interface Revision {
  /** Version and capabilities are in `_meta` of each request and in headers; there is no `initialize`. */
  readonly isStateless: boolean
  /** One body may hold several messages. */
  readonly takesBatches: boolean
  /** The JSON-RPC code for a resource that does not exist. */
  readonly resourceNotFound: number
}

const withHandshake: Revision = { isStateless: false, takesBatches: false, resourceNotFound: -32002 }

/** Newest first. */
export const revisions: Readonly<Record<string, Revision>> = {
  '2026-07-28': { isStateless: true, takesBatches: false, resourceNotFound: -32602 },
  '2025-11-25': withHandshake,
  '2025-06-18': withHandshake,
  '2025-03-26': { ...withHandshake, takesBatches: true },
}

export const supportedVersions: readonly string[] = Object.keys(revisions)

/** The newest one with a handshake: what `initialize` answers to a client that asks for a version we do not know. */
export const handshakeVersion = supportedVersions.find((version) => !revisions[version]!.isStateless)!

/** Clients of this revision do not name it in a header. */
export const versionWithoutHeader = '2025-03-26'

export const revisionOf = (version: string): Revision | undefined =>
  Object.hasOwn(revisions, version) ? revisions[version] : undefined
