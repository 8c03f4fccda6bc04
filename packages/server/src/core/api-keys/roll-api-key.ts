import { rollOverlapMs, rollOverlapMsMax } from '../limits.ts'
import { earlierEnd, looksLikeSeconds, refuseKeyMember, requireEpochMs } from './api-key.ts'

// To roll an API key is to make a new one like it and to end the old one a while later.

/** Returns the end of the old key. It may be in the past: then the key is revoked. */
export const parseOldEnd = (value: unknown, nowMs: number): number => {
  if (value === undefined) return nowMs + rollOverlapMs
  const ms = requireEpochMs(value, 'expiresAt')
  if (ms > nowMs + rollOverlapMsMax) {
    return refuseKeyMember(
      'expiresAt',
      'is more than 366 days ahead.',
      'Give a sooner end for the old key, or leave it out: the default is 24 hours from now.',
    )
  }
  if (looksLikeSeconds(ms, nowMs)) {
    return refuseKeyMember(
      'expiresAt',
      `is ${ms}, which looks like seconds; it takes epoch milliseconds.`,
      `Write it as ${ms * 1000}. To revoke the old key at once, give 0.`,
    )
  }
  return ms
}

interface OldKey {
  createdAtMs: number
  expiresAtMs: number | null
  revokedAtMs: number | null
  rolledTo: string | null
}

/** Tells whether a key can be rolled: it is active, and was not rolled before. */
export const canBeRolled = ({ expiresAtMs, revokedAtMs, rolledTo }: OldKey, nowMs: number): boolean =>
  revokedAtMs === null && rolledTo === null && (expiresAtMs === null || expiresAtMs > nowMs)

/**
 * Returns the ends of both keys. The new one lives as long as the old one was meant to; the engine also ends it with the key
 * that asks. The old one ends at `oldEndMs`, unless its own end is sooner.
 */
export const endsOfRoll = (
  { createdAtMs, expiresAtMs }: OldKey,
  oldEndMs: number,
  nowMs: number,
): { newKey: { expiresAtMs: number | null }; oldKey: { expiresAtMs: number | null; revokedAtMs: number | null } } => {
  const lifeMs = expiresAtMs === null ? null : expiresAtMs - createdAtMs
  const isRevoked = oldEndMs <= nowMs
  return {
    newKey: { expiresAtMs: lifeMs === null ? null : Math.min(nowMs + lifeMs, Number.MAX_SAFE_INTEGER) },
    oldKey: isRevoked
      ? { expiresAtMs, revokedAtMs: nowMs }
      : { expiresAtMs: earlierEnd(expiresAtMs, oldEndMs), revokedAtMs: null },
  }
}
