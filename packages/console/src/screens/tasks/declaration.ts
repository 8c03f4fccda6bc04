import type { TaskRow } from '../../api/types.ts'
import { readAnswer } from '../../text/answer.ts'
import { checkJson } from '../../text/check.ts'

// The declaration of a task as the texts of a form, and as the body of the request.

export interface DeclarationForm {
  url: string
  authorization: string
  leaseSeconds: string
  attempts: string
  backoffSeconds: string
  concurrency: string
  keepSeconds: string
  paused: boolean
  kind: 'none' | 'every' | 'cron'
  every: string
  cron: string
  timezone: string
  /** JSON, exactly as it is sent. */
  payload: string
  /** The table that the task follows; empty for none. */
  on: string
  /** The operations that it follows, with commas; empty for all. */
  ops: string
}

/** A declaration in an answer or a text. The payload of the schedule is its text. */
interface Declared {
  [name: string]: unknown
  schedule?: ({ [name: string]: unknown } & { payload?: string }) | null
  on?: { [name: string]: unknown } | null
}

const textOf = (value: unknown): string => (value === null || value === undefined ? '' : String(value))

const texts = ['url', 'authorization'] as const
const numbers = ['leaseSeconds', 'attempts', 'backoffSeconds', 'concurrency', 'keepSeconds'] as const

export const formOf = (from: TaskRow | Declared): DeclarationForm => {
  const declared = from as Declared
  const schedule = declared.schedule ?? undefined
  const field = (name: string) => textOf(declared[name])
  return {
    url: field('url'),
    authorization: field('authorization'),
    leaseSeconds: field('leaseSeconds'),
    attempts: field('attempts'),
    backoffSeconds: field('backoffSeconds'),
    concurrency: field('concurrency'),
    keepSeconds: field('keepSeconds'),
    paused: declared.paused === true,
    kind: schedule === undefined ? 'none' : 'every' in schedule ? 'every' : 'cron',
    every: textOf(schedule?.every),
    cron: textOf(schedule?.cron),
    timezone: textOf(schedule?.timezone),
    payload: schedule?.payload ?? '',
    on: textOf(declared.on?.table),
    ops: textOf(declared.on?.ops).replaceAll(',', ', '),
  }
}

export const emptyForm = formOf({})

/** Text that is not a number is sent as a string: the server then says what it takes. */
const numberText = (text: string): string => (/^-?\d+$/.test(text.trim()) ? text.trim() : JSON.stringify(text))

const scheduleMembers = ({ kind, every, cron, timezone, payload }: DeclarationForm): string[] => [
  ...(kind === 'every' ? [`"every": ${numberText(every)}`] : [`"cron": ${JSON.stringify(cron)}`]),
  ...(kind === 'cron' && timezone.trim() !== '' ? [`"timezone": ${JSON.stringify(timezone.trim())}`] : []),
  ...(payload.trim() === '' ? [] : [`"payload": ${payload}`]),
]

const onMembers = ({ on, ops }: DeclarationForm): string[] => {
  const words = ops.split(/[\s,]+/).filter((word) => word !== '')
  return [
    `"table": ${JSON.stringify(on.trim())}`,
    ...(words.length === 0 ? [] : [`"ops": [${words.map((word) => JSON.stringify(word)).join(', ')}]`]),
  ]
}

/** The body of the PUT: what is empty is left out and has its default. */
export const declarationOf = (form: DeclarationForm): string => {
  const members = [
    ...texts
      .filter((name) => form[name].trim() !== '')
      .map((name) => `"${name}": ${JSON.stringify(form[name].trim())}`),
    ...numbers.filter((name) => form[name].trim() !== '').map((name) => `"${name}": ${numberText(form[name])}`),
    ...(form.paused ? ['"paused": true'] : []),
    ...(form.kind === 'none' ? [] : [`"schedule": { ${scheduleMembers(form).join(', ')} }`]),
    ...(form.on.trim() === '' ? [] : [`"on": { ${onMembers(form).join(', ')} }`]),
  ]
  return members.length === 0 ? '{}' : `{\n  ${members.join(',\n  ')}\n}`
}

/** The reason why the payload of the schedule is not JSON. */
export const payloadFault = ({ kind, payload }: DeclarationForm): string | undefined => {
  if (kind === 'none' || payload.trim() === '') return undefined
  const checked = checkJson(payload)
  return checked.ok ? undefined : checked.message
}

const known = new Set<string>([...texts, ...numbers, 'paused', 'schedule', 'on'])
const knownOfSchedule = new Set(['every', 'cron', 'timezone', 'payload'])
const knownOfOn = new Set(['table', 'ops'])

/** The form of a text, or why the form cannot show it. */
export const formOfText = (text: string): { form: DeclarationForm } | { fault: string } => {
  const checked = checkJson(text)
  if (!checked.ok) return { fault: checked.message }
  const declared = readAnswer<Declared | null>(text, ['payload'])
  if (declared === null || typeof declared !== 'object' || Array.isArray(declared)) {
    return { fault: 'A declaration is an object: { "attempts": 5 }.' }
  }
  const { schedule, on } = declared
  const strange =
    Object.keys(declared).find((name) => !known.has(name)) ??
    Object.keys(schedule ?? {}).find((name) => !knownOfSchedule.has(name)) ??
    Object.keys(on ?? {}).find((name) => !knownOfOn.has(name))
  return strange === undefined
    ? { form: formOf(declared) }
    : { fault: `A declaration has no member ${JSON.stringify(strange)}. Remove it.` }
}
