import type { Fingerprint, Token } from './token.ts'
import { type Checksum, isNextGeneration, type LastFrame, type Salts, sameSalts } from './wal-file.ts'

// Decides whether a starting server may continue the last run of its archive. It may if every frame since the last archived one
// is in the WAL that it finds. The rule is pure: everything it needs is given.

interface KnownEnd {
  number: number
  ended: boolean
  last: LastFrame | undefined
  /** True if its segments go as far as the heartbeat says. */
  isWhole: boolean
  /** True if it goes less far than when the token was written. */
  wasSetBack: boolean
}

export interface Found {
  archive: string
  /** The last run; undefined if the archive has none. */
  run: KnownEnd | undefined
  token: Token | undefined
  /**
   * The WAL; undefined if there is none or it is empty. `checksumAt`: the checksum of the frame with the number of the last
   * archived one.
   */
  wal: (Salts & { checksumAt: Checksum | undefined }) | undefined
  fingerprint: Fingerprint
}

type Continuation =
  /** `from`: the same generation after the last frame, or another generation from its first frame. */
  { from: 'lastFrame' | 'generation' } | { gap: string }

export const decideContinuation = ({ archive, run, token, wal, fingerprint }: Found): Continuation => {
  if (run === undefined) return { gap: 'the archive is new' }
  if (run.ended) return { gap: 'the archive had failed before' }
  if (token === undefined || token.archive !== archive || token.run !== run.number) {
    return { gap: 'a server without this archive, or one whose archive had failed, has used the store since' }
  }
  if (run.wasSetBack) return { gap: 'the archive is an older one than the store: its disk was set back' }
  const { last } = run
  if (wal !== undefined && last !== undefined) {
    if (sameSalts(wal, last)) {
      const isSame = wal.checksumAt?.[0] === last.checksum[0] && wal.checksumAt[1] === last.checksum[1]
      return isSame ? { from: 'lastFrame' } : { gap: 'cubby.db-wal is not the one that was archived' }
    }
    // A reset waits until every frame is archived: see Archiver.
    if (isNextGeneration(last, wal)) return run.isWhole ? { from: 'generation' } : { gap: endMissing }
  }
  // The server had closed the store, and neither the database file nor the run has changed since.
  if (token.closed === fingerprint) {
    if (isSameFrame(token.last ?? undefined, last)) return { from: 'generation' }
    if (!run.isWhole) return { gap: endMissing }
    return { gap: 'the store is an older one than the archive: its disk was set back' }
  }
  return { gap: 'another command was the last to close the store, or its files were replaced' }
}

const endMissing = 'the last segments of the archive are missing'

const isSameFrame = (a: LastFrame | undefined, b: LastFrame | undefined): boolean =>
  a === undefined || b === undefined
    ? a === b
    : sameSalts(a, b) && a.frame === b.frame && a.checksum[0] === b.checksum[0] && a.checksum[1] === b.checksum[1]
