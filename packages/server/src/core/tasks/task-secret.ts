import { randomBytes } from 'node:crypto'

/** A key that signs pushes. It lies in the store as it is: the server must know it to sign. */
export interface TaskSecret {
  /** `whsec_` and the base64 of 32 bytes. */
  text: string
  /** It signs until then; null: it is the newest. */
  untilMs: number | null
}

/** The time for which the secret before a new one signs along. */
const oldSecretMs = 24 * 60 * 60 * 1000

export const newTaskSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

/** Keeps at most two: the new one and, unless it is revoked, the one before. */
export const addTaskSecret = (
  secrets: TaskSecret[],
  text: string,
  revokesOld: boolean,
  nowMs: number,
): TaskSecret[] => [
  { text, untilMs: null },
  ...(revokesOld ? [] : secrets.slice(0, 1).map((old) => ({ ...old, untilMs: nowMs + oldSecretMs }))),
]

/** Newest first. */
export const signingSecrets = (secrets: TaskSecret[], nowMs: number): string[] =>
  secrets.filter(({ untilMs }) => untilMs === null || untilMs > nowMs).map(({ text }) => text)
