import { maskApiKeys } from './api-keys/mask-api-keys.ts'

// A hint is for the caller, and the useful words depend on the transport: over HTTP a path, in a shell a command. So rules
// and operations name the operation that helps, and the adapter writes the text.

type KnownInput = Readonly<Record<string, string | number | boolean>>

/** An operation that helps, with the known part of its input. */
export interface SuggestedCall {
  readonly operation: string
  readonly input: KnownInput
}

/** Members of the input to send, if the operation is clear. */
interface SuggestedInput {
  readonly send: KnownInput
}

/** A member of the input that may be missing. */
interface SuggestedMember {
  readonly give: string
}

/** Repeat the same request later. */
interface SuggestedRepeat {
  readonly repeat: 'later'
}

type HintPart = string | SuggestedCall | SuggestedInput | SuggestedMember | SuggestedRepeat

/** The suggested next step: text that does not mention the transport, or parts that form one sentence. */
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
