import type { HintLanguage, SuggestedCall } from '../core/hint.ts'
import { findOperation } from './catalogue.ts'

const isFlag = (value: unknown): boolean => value === true || value === 'true'

const flagOf = (name: string): string => `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

type Input = Readonly<Record<string, unknown>>

const commandFor = ({ operation }: SuggestedCall, input: Input): string => {
  const template = findOperation(operation)?.command
  if (template === undefined) return operation
  const words = template
    .replaceAll(/ ?\[([^\]]*)\{(\w+)\}\]/g, (_, flag: string, name: string) => {
      if (input[name] === undefined) return ''
      return isFlag(input[name]) ? ` ${flag.trimEnd()}` : ` ${flag}${input[name]}`
    })
    .replaceAll(/\{(\w+)\}/g, (_, name: string) => String(input[name] ?? name.toUpperCase()))
  return `cubby ${words}`
}

/** Hints that name shell commands, from the command of each operation. */
export const shellLanguage: HintLanguage = {
  call: (call) => commandFor(call, call.input),
  send: (members) =>
    Object.entries(members)
      .map(([name, value]) => `${flagOf(name)} ${value}`)
      .join(' '),
  give: () => 'give that too',
  repeatLater: 'Try again later',
}

/** A user may paste a hint into a shell: these characters mean nothing there. */
const plainValue = /^[A-Za-z0-9_-]+$/
const plainFileName = /^[A-Za-z0-9_./-]+$/

/**
 * The same for the answer of a server. `names`: those in the path of the request; `otherwise`: the words for a call with
 * values that a shell could read as something else. The name of a file with such characters is left out.
 */
export const shellLanguageOver = (names: Input, otherwise: HintLanguage): HintLanguage => ({
  ...shellLanguage,
  call(call) {
    const { name, ...input }: Input = { ...names, ...call.input }
    if (!Object.values(input).every((value) => plainValue.test(String(value)))) return otherwise.call(call)
    return commandFor(call, plainFileName.test(String(name ?? '')) ? { ...input, name } : input)
  },
})
