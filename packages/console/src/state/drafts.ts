import { session } from './session.ts'

// Text that was typed and not saved. It outlives the screen and the session: after a key has ended, the same organization
// finds it again.

export interface Draft {
  text: string
  /** The text of the stored record that the draft began from; undefined for a new record. */
  base?: string
  version?: number
  hashKey?: string
  rangeKey?: string
  ttl?: string
}

/** The text that a new record begins with. */
export const newText = '{\n  \n}'

const drafts = new Map<string, Draft>()

const nameOf = (place: string): string => `${session.value?.self.organization ?? ''} ${place}`

/** `place` is the address of the screen, see `hrefOf`. */
export const draftOf = (place: string): Draft | undefined => drafts.get(nameOf(place))
export const keepDraft = (place: string, draft: Draft): void => {
  drafts.set(nameOf(place), draft)
}
export const hasDrafts = (): boolean => drafts.size > 0
export const dropDraft = (place: string): void => {
  drafts.delete(nameOf(place))
}
