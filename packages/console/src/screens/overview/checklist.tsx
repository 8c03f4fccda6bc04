import type { ComponentChildren } from 'preact'
import { read } from '../../api/request.ts'
import type { KeyMetadata, ListKeysResponse } from '../../api/types.ts'
import { overlay } from '../../state/overlay.ts'
import { canManageKeys, session } from '../../state/session.ts'
import { set } from '../../ui/action.tsx'
import { useLoad } from '../../ui/load.tsx'
import { Section } from '../../ui/screen.tsx'
import { SampleButton } from '../sample/sample-button.tsx'

// The first steps of an organization, with what is done already.

/** Keys that people sign in to the console with do not count. */
const programKeys = (keys: readonly KeyMetadata[]): KeyMetadata[] =>
  keys.filter(
    ({ id, name, status }) =>
      status === 'active' && name !== null && !name.startsWith('console') && id !== session.value?.self.id,
  )

interface Step {
  title: string
  text: string
  isDone: boolean
  action: ComponentChildren
}

interface Props {
  table: { db: string; table: string } | undefined
  hasRecord: boolean
  hide: () => void
}

export const Checklist = ({ table, hasRecord, hide }: Props) => {
  const keys = useLoad(
    async (signal) =>
      canManageKeys.value ? programKeys((await read<ListKeysResponse>('GET', '/api/keys', { signal })).keys) : [],
    [],
  )
  const found = keys.value.value ?? []
  const steps: Step[] = [
    {
      title: 'Create a table',
      text: 'Name a database and a table. Records need no schema. Or load a shop with orders to look around in, which one click removes again.',
      isDone: table !== undefined,
      action: (
        <>
          <button type="button" class="filled" onClick={set(overlay, { kind: 'createTable' })}>
            Create a table
          </button>
          <SampleButton />
        </>
      ),
    },
    {
      title: 'Write a record',
      text: 'A key and a JSON object. Your program will do it by one request.',
      isDone: hasRecord,
      action: table && (
        <a class="button" href={`#/${table.db}/${table.table}/_new`}>
          New record in {table.table}
        </a>
      ),
    },
    {
      title: 'Create a key for your program',
      text: 'A secret key for a server, a public one for an app that only reads. Give it a name, so that you know it again.',
      isDone: found.length > 0,
      action: canManageKeys.value && (
        <a class="button" href="#/_keys">
          Keys
        </a>
      ),
    },
    {
      title: 'Connect from code',
      text: "The first requests for curl, TypeScript and agents, with this server's address.",
      isDone: found.some(({ lastUsedAt }) => lastUsedAt !== null),
      action: (
        <button type="button" onClick={set(overlay, { kind: 'connect' })}>
          Connect from code
        </button>
      ),
    },
  ]
  // The list appears as a whole, and not at all if everything is done.
  if (keys.value.value === undefined && keys.error.value === undefined) return null
  if (steps.every(({ isDone }) => isDone)) return null
  return (
    <Section
      title="First steps"
      actions={
        table && (
          <button type="button" class="link" onClick={hide}>
            Hide
          </button>
        )
      }
    >
      <ol class="checklist">
        {steps.map(({ title, text, isDone, action }) => (
          <li key={title}>
            <span class={isDone ? 'tag ok' : 'tag'}>{isDone ? 'done' : 'to do'}</span>
            <div>
              <h3>{title}</h3>
              {!isDone && <p class="muted">{text}</p>}
            </div>
            {!isDone && <div class="actions">{action}</div>}
          </li>
        ))}
      </ol>
    </Section>
  )
}
