import type { Signal } from '@preact/signals'
import { Check, Choice, TextField } from '../../ui/form.tsx'
import { type DeclarationForm, payloadFault } from './declaration.ts'

type TextName = Exclude<keyof DeclarationForm, 'paused' | 'kind'>

/** A member, what it means, and an example or its default. */
type Line = [TextName, string, string]

const pushLines: Line[] = [
  ['url', 'Runs are pushed there. Empty: workers claim them', 'https://example.com/hook'],
  ['authorization', 'A header of each push. **** keeps it while the origin of url stays', ''],
]
const numberLines: Line[] = [
  ['attempts', '1 to 50', '12'],
  ['leaseSeconds', 'Without a sign of life for so long, an attempt has failed', '30'],
  ['backoffSeconds', 'Doubles with each attempt', '5'],
  ['concurrency', 'Empty: 10 with url, else unlimited', ''],
  ['keepSeconds', 'So long finished runs are kept', '604800'],
]
const cronLines: Line[] = [
  ['cron', 'Minute, hour, day, month, day of week', '0 6 * * mon-fri'],
  ['timezone', 'For example Europe/Berlin', 'UTC'],
]
const onLines: Line[] = [
  ['on', 'A table: each write of it adds a run. Empty: none', 'orders'],
  ['ops', 'Only these writes. Empty: all', 'put, delete, expire'],
]
const kinds = [
  ['none', 'none'],
  ['every', 'every so many seconds'],
  ['cron', 'cron pattern'],
] as const

/** Every member of a declaration. */
export const DeclarationFields = ({ form }: { form: Signal<DeclarationForm> }) => {
  const { kind, paused } = form.value
  const change = (part: Partial<DeclarationForm>) => {
    form.value = { ...form.value, ...part }
  }
  const text = ([name, hint, placeholder]: Line, inputMode?: 'numeric') => (
    <TextField
      key={name}
      label={name}
      hint={hint}
      placeholder={placeholder}
      inputMode={inputMode}
      value={form.value[name]}
      onText={(value) => change({ [name]: value })}
    />
  )
  return (
    <>
      <div class="form-row">{pushLines.map((line) => text(line))}</div>
      <div class="form-row tight">{numberLines.map((line) => text(line, 'numeric'))}</div>
      <div class="form-row">
        <Choice
          label="schedule"
          value={kind}
          options={kinds}
          onText={(value) => change({ kind: value as DeclarationForm['kind'] })}
        />
        {kind === 'every' && text(['every', 'seconds', '3600'], 'numeric')}
        {kind === 'cron' && cronLines.map((line) => text(line))}
      </div>
      {kind !== 'none' && (
        <TextField
          label="payload of the scheduled runs"
          fault={payloadFault(form.value)}
          hint="A JSON object; empty: {}"
          rows={3}
          value={form.value.payload}
          onText={(payload) => change({ payload })}
        />
      )}
      <div class="form-row">{onLines.map((line) => text(line))}</div>
      <Check
        label="Paused"
        note="nothing is handed out, pushed or scheduled; runs may still be added"
        isOn={paused}
        onChange={(isOn) => change({ paused: isOn })}
      />
    </>
  )
}
