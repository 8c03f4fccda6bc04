import { maskApiKeys } from './api-keys/mask-api-keys.ts'

// A hint is for whoever made the request, and what helps them depends on how they made it: over HTTP a path, in a shell a
// command. So rules and operations say which operation helps, and the adapter that speaks writes it down.

type KnownInput = Readonly<Record<string, string | number | boolean>>

/** An operation that helps, with what is known of its input. */
export interface SuggestedCall {
  readonly operation: string
  readonly input: KnownInput
}

/** Members of the input to send, where the operation is clear. */
export interface SuggestedInput {
  readonly send: KnownInput
}

/** A member of the input that may be missing. */
export interface SuggestedMember {
  readonly give: string
}

/** To do the same again after a while. */
export interface SuggestedRepeat {
  readonly repeat: 'later'
}

export type HintPart = string | SuggestedCall | SuggestedInput | SuggestedMember | SuggestedRepeat

/** The next step to take: text that says nothing of the transport, or parts that read as one sentence. */
export type Hint = string | readonly HintPart[]

export const call = (operation: string, input: KnownInput = {}): SuggestedCall => ({ operation, input })

export const repeatLater: Hint = [{ repeat: 'later' }, '.']

export interface HintLanguage {
  call(call: SuggestedCall): string
  send(send: KnownInput): string
  give(member: string): string
  repeatLater: string
}

/** The hint in the words of an adapter. */
export const hintText = (hint: Hint, language: HintLanguage): string => {
  if (typeof hint === 'string') return hint
  const texts = hint.map((part) => {
    if (typeof part === 'string') return part
    if ('operation' in part) return language.call(part)
    if ('send' in part) return language.send(part.send)
    return 'give' in part ? language.give(part.give) : language.repeatLater
  })
  return texts.join('')
}

const maskMember = (value: string | number | boolean) => (typeof value === 'string' ? maskApiKeys(value) : value)

const maskPart = (part: HintPart): HintPart => {
  if (typeof part === 'string') return maskApiKeys(part)
  if (!('operation' in part)) return part
  const input = Object.entries(part.input).map(([name, value]) => [name, maskMember(value)])
  return { operation: part.operation, input: Object.fromEntries(input) }
}

export const maskHint = (hint: Hint): Hint => (typeof hint === 'string' ? maskApiKeys(hint) : hint.map(maskPart))
