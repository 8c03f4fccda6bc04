import { type Signal, useSignal } from '@preact/signals'
import { serverNowMs } from '../api/clock.ts'
import { pathOf, read } from '../api/request.ts'
import type { CreateKeyResponse, KeyMetadata, ListKeysResponse } from '../api/types.ts'
import { catalogue } from '../state/catalogue.ts'
import { canManageKeys, forgetLiveKey, session } from '../state/session.ts'
import { Failure, into, set, useAction } from '../ui/action.tsx'
import { announce } from '../ui/announce.ts'
import { Choice, Confirm, FormDialog, TextField } from '../ui/form.tsx'
import { hidden, List } from '../ui/list.tsx'
import { Shown, useLoad } from '../ui/load.tsx'
import { Empty, Screen } from '../ui/screen.tsx'
import { ShownOnce } from '../ui/shown-once.tsx'
import { Time } from '../ui/time.tsx'
import { EndsWithSession } from './ends-with-session.tsx'
import { Issuers } from './issuers.tsx'
import { RollKey } from './roll-key.tsx'
import { Users } from './users.tsx'

// `#/_keys`: the API keys of the organization, the tokens of its users, and issuers.

const dayMs = 86_400_000
const lifetimes = [
  ['never', 'Never'],
  [String(dayMs), 'In a day'],
  [String(7 * dayMs), 'In 7 days'],
  [String(30 * dayMs), 'In 30 days'],
  [String(365 * dayMs), 'In a year'],
] as const

/** A key creates none that ends later than itself. */
const lifetimesUntil = (endMs: number | null): readonly (readonly [string, string])[] =>
  endMs === null
    ? lifetimes
    : [
        ['never', 'When your own key expires'],
        ...lifetimes.filter(([ms]) => ms !== 'never' && serverNowMs() + Number(ms) < endMs),
      ]

/** The names in a text with commas or spaces between them. */
const namesIn = (text: string): string[] => text.split(/[\s,]+/).filter((name) => name !== '')

/** The key is for all databases or for some. Those that exist are chosen from a list, others are typed. */
const ScopeFields = ({ chosen, others }: { chosen: Signal<string[] | undefined>; others: Signal<string> }) => {
  const databases = catalogue.value?.databases ?? []
  const names = chosen.value ?? []
  return (
    <fieldset class="section plain">
      <legend>Databases</legend>
      <label class="check">
        <input type="radio" name="scope" checked={chosen.value === undefined} onChange={set(chosen, undefined)} />
        <span>all</span>
      </label>
      <label class="check">
        <input type="radio" name="scope" checked={chosen.value !== undefined} onChange={set(chosen, [])} />
        <span>only some</span>
      </label>
      {chosen.value !== undefined && (
        <>
          <div class="check-list">
            {databases.map((db) => (
              <label class="check" key={db}>
                <input
                  type="checkbox"
                  checked={names.includes(db)}
                  onChange={(event) => {
                    chosen.value = event.currentTarget.checked ? [...names, db] : names.filter((name) => name !== db)
                  }}
                />
                <span>{db}</span>
              </label>
            ))}
          </div>
          <TextField
            label="Databases that do not exist yet"
            hint="Names with commas between them, or nothing."
            value={others.value}
            onText={into(others)}
          />
        </>
      )}
    </fieldset>
  )
}

const statusClass = { active: 'ok', expired: 'warn', revoked: 'danger' }

const CreateKey = ({ onCreated, onClose }: { onCreated: (key: CreateKeyResponse) => void; onClose: () => void }) => {
  const kind = useSignal<'secret' | 'public'>('public')
  const name = useSignal('')
  const chosen = useSignal<string[] | undefined>(undefined)
  const others = useSignal('')
  const lifetime = useSignal<string>('never')
  const endMs = session.value!.self.expiresAt
  const create = async () => {
    const scope = chosen.value && [...new Set([...chosen.value, ...namesIn(others.value)])]
    if (scope?.length === 0) throw new Error('Choose a database, or all of them.')
    const body = JSON.stringify({
      kind: kind.value,
      ...(name.value.trim() !== '' && { name: name.value.trim() }),
      ...(lifetime.value !== 'never' && { expiresAt: serverNowMs() + Number(lifetime.value) }),
      ...(scope && { databases: scope }),
    })
    onCreated(await read<CreateKeyResponse>('POST', '/api/keys', { body }))
  }
  return (
    <FormDialog
      title="Create a key"
      action="Create"
      ifUnknown="The key may have been created all the same. Nobody can read it any more: if it is in the list, revoke it."
      run={create}
      onClose={onClose}
    >
      {endMs !== null && (
        <EndsWithSession
          endMs={endMs}
          command={`keys create --org ${session.value!.self.organization} --kind ${kind.value}`}
        />
      )}
      <fieldset class="section plain">
        <legend>Kind</legend>
        {(['public', 'secret'] as const).map((each) => (
          <label class="check" key={each}>
            <input type="radio" name="kind" checked={kind.value === each} onChange={set(kind, each)} />
            <span>
              {each}
              <small>
                {each === 'public'
                  ? 'reads records, files and runs; can be in an app or a web page'
                  : 'reads, writes and deletes; keep it on a server'}
              </small>
            </span>
          </label>
        ))}
      </fieldset>
      <TextField
        label="Name"
        hint="So that you know it again, such as the program that uses it."
        value={name.value}
        onText={into(name)}
      />
      <ScopeFields chosen={chosen} others={others} />
      <Choice label="Expires" options={lifetimesUntil(endMs)} value={lifetime.value} onText={into(lifetime)} />
    </FormDialog>
  )
}

interface KeyRowProps {
  of: KeyMetadata
  /** Shows another key of the list by its id. */
  maskedOf: (id: string) => string
  revoke: () => void
  roll: () => void
}

const KeyRow = ({ of: key, maskedOf, revoke, roll }: KeyRowProps) => {
  const isOwn = key.id === session.value?.self.id
  const title = key.name ?? key.masked
  return (
    <tr>
      <th scope="row">
        {key.name ?? <span class="muted">no name</span>}
        {isOwn && <small class="block">you are signed in with it</small>}
      </th>
      <td>
        <code class="nowrap">{key.masked}</code>
      </td>
      <td>{key.kind}</td>
      <td>{key.databases === null ? 'all databases' : key.databases.join(', ')}</td>
      <td>
        <span class={`tag ${statusClass[key.status]}`}>{key.status}</span>
        {key.status === 'active' && key.expiresAt !== null && (
          <small class="block">
            expires <Time ms={key.expiresAt} />
          </small>
        )}
        {key.rolledTo !== null && (
          <small class="block">
            rolled into <code class="nowrap">{maskedOf(key.rolledTo)}</code>
          </small>
        )}
        {key.rolledFrom !== null && (
          <small class="block">
            rolled from <code class="nowrap">{maskedOf(key.rolledFrom)}</code>
          </small>
        )}
      </td>
      <td class="nowrap" data-label="last use">
        {key.lastUsedAt === null ? 'never' : <Time ms={key.lastUsedAt} />}
      </td>
      <td class="nowrap" data-label="created">
        <Time ms={key.createdAt} />
      </td>
      <td class="num nowrap">
        {key.status === 'active' && key.rolledTo === null && (
          <button type="button" aria-label={`Roll ${title}`} onClick={roll}>
            Roll
          </button>
        )}{' '}
        {key.status !== 'revoked' && (
          <button type="button" aria-label={`Revoke ${title}`} onClick={revoke}>
            Revoke
          </button>
        )}
      </td>
    </tr>
  )
}

const KeyList = () => {
  const cursor = useSignal<string | null>(null)
  const reading = useAction()
  const isCreating = useSignal(false)
  const created = useSignal<CreateKeyResponse | undefined>(undefined)
  const revoking = useSignal<KeyMetadata | undefined>(undefined)
  const rolling = useSignal<KeyMetadata | undefined>(undefined)
  const found = useLoad(async (signal) => {
    const page = await read<ListKeysResponse>('GET', '/api/keys', { signal })
    cursor.value = page.cursor
    return page.keys
  }, [])
  const more = async () => {
    const page = await read<ListKeysResponse>('GET', `/api/keys?cursor=${encodeURIComponent(cursor.value!)}`)
    cursor.value = page.cursor
    found.value.value = [...(found.value.value ?? []), ...page.keys]
  }
  const revoke = async (key: KeyMetadata) => {
    const revoked = await read<KeyMetadata>('DELETE', pathOf('api', 'keys', key.id))
    found.value.value = found.value.value?.map((each) => (each.id === revoked.id ? revoked : each))
    forgetLiveKey(key.id)
    announce(`${key.name ?? key.masked} is revoked`)
    // The next request would be refused: this one says so at once.
    if (key.id === session.value?.self.id) await found.reload()
  }
  return (
    <Screen
      title="Keys"
      actions={
        <button type="button" class="filled" onClick={set(isCreating, true)}>
          Create a key
        </button>
      }
    >
      <div class="pad wide">
        <Shown of={found}>
          {(keys) => (
            <List
              class="blocks"
              heads={['name', 'key', 'kind', 'scope', 'status', 'last use', 'created', hidden('actions')]}
            >
              {keys.map((key) => (
                <KeyRow
                  key={key.id}
                  of={key}
                  maskedOf={(id) => keys.find((each) => each.id === id)?.masked ?? id}
                  revoke={set(revoking, key)}
                  roll={set(rolling, key)}
                />
              ))}
            </List>
          )}
        </Shown>
        <Failure of={reading} />
        {cursor.value !== null && (
          <div>
            <button type="button" onClick={() => reading.run(more)}>
              More keys
            </button>
          </div>
        )}
        <Users />
        <Issuers />
      </div>
      {isCreating.value && (
        <CreateKey
          onClose={() => {
            isCreating.value = false
            // A key whose creation got no answer is in it.
            found.reload()
          }}
          onCreated={(key) => {
            isCreating.value = false
            created.value = key
            found.reload()
          }}
        />
      )}
      {rolling.value && (
        <RollKey
          of={rolling.value}
          onClose={() => {
            rolling.value = undefined
            // A roll that got no answer may be in it.
            found.reload()
          }}
          onRolled={(key) => {
            rolling.value = undefined
            created.value = key
            found.reload()
          }}
        />
      )}
      {created.value && (
        <ShownOnce
          title="Your new key"
          what="the key"
          text={created.value.key}
          why="It is shown only once: the server keeps a hash of it."
          expiresAt={created.value.expiresAt}
          onClose={set(created, undefined)}
        />
      )}
      {revoking.value && (
        <Confirm
          title={`Revoke ${revoking.value.name ?? revoking.value.masked}?`}
          action="Revoke the key"
          run={() => revoke(revoking.value!)}
          onClose={set(revoking, undefined)}
        >
          <p>
            Every request with <code>{revoking.value.masked}</code> is refused from now on. This cannot be undone.
            {revoking.value.id === session.value?.self.id && ' You are signed in with it, and will be signed out.'}
          </p>
        </Confirm>
      )}
    </Screen>
  )
}

export const KeysScreen = () =>
  canManageKeys.value ? (
    <KeyList />
  ) : (
    <Screen title="Keys">
      <Empty text="Keys are managed with a secret key that is not limited to databases. Sign in with one to see them." />
    </Screen>
  )
