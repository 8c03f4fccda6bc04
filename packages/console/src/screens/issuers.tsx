import { useSignal } from '@preact/signals'
import { pathOf, read, send } from '../api/request.ts'
import type { Issuer, ListIssuersResponse } from '../api/types.ts'
import { checkRecord } from '../text/check.ts'
import { into, set } from '../ui/action.tsx'
import { announce } from '../ui/announce.ts'
import { Confirm, FormDialog, TextField } from '../ui/form.tsx'
import { hidden, List } from '../ui/list.tsx'
import { Shown, useLoad } from '../ui/load.tsx'
import { Empty, Section } from '../ui/screen.tsx'
import { Time } from '../ui/time.tsx'

// The login services whose tokens are exchanged for user tokens.

const example = {
  issuer: 'https://login.example.com/',
  audience: 'my-application',
  keysUrl: 'https://login.example.com/.well-known/jwks.json',
  grants: [{ db: 'app', table: 'notes', hash: '{sub}', can: 'write' }],
}

/** Without what the server adds. */
const declarationOf = (issuer: Issuer): string => {
  const { name: _, createdAt: _created, updatedAt: _updated, ...declaration } = issuer
  return JSON.stringify(declaration, undefined, 2)
}

interface PutProps {
  /** Undefined: a new one. */
  of: Issuer | undefined
  /** The names of all. */
  names: string[]
  onPut: () => void
  onClose: () => void
}

const PutIssuer = ({ of: issuer, names, onPut, onClose }: PutProps) => {
  const name = useSignal(issuer?.name ?? '')
  const text = useSignal(issuer ? declarationOf(issuer) : JSON.stringify(example, undefined, 2))
  const checked = checkRecord(text.value)
  const fault = checked.ok ? undefined : checked.message
  const isTaken = issuer === undefined && names.includes(name.value)
  const put = async () => {
    await send('PUT', pathOf('api', 'issuers', name.value), { body: text.value })
    announce(`${name.value} is stored`)
    onPut()
  }
  return (
    <FormDialog
      title={issuer ? `Change ${issuer.name}` : 'Add an issuer'}
      action={issuer ? 'Change' : 'Add'}
      isWide
      isDisabled={fault !== undefined || name.value === '' || isTaken}
      run={put}
      onClose={onClose}
    >
      {issuer ? (
        <p>A change ends the tokens that were exchanged before.</p>
      ) : (
        <TextField
          label="Name"
          hint="Its users are called name:sub."
          fault={isTaken ? 'There is an issuer with this name: change that one.' : undefined}
          value={name.value}
          onText={into(name)}
        />
      )}
      <TextField
        label="Declaration"
        hint="In user, and in db, hash and prefix of the grants, {claim} stands for a claim of the login token."
        fault={fault}
        rows={14}
        value={text.value}
        onText={into(text)}
      />
    </FormDialog>
  )
}

export const Issuers = () => {
  const putting = useSignal<{ issuer: Issuer | undefined } | undefined>(undefined)
  const deleting = useSignal<Issuer | undefined>(undefined)
  const found = useLoad(
    async (signal) => (await read<ListIssuersResponse>('GET', '/api/issuers', { signal })).issuers,
    [],
  )
  const remove = async ({ name }: Issuer) => {
    await send('DELETE', pathOf('api', 'issuers', name))
    announce(`${name} is deleted`)
    await found.reload()
  }
  return (
    <Section
      title="Issuers"
      actions={
        <button type="button" onClick={set(putting, { issuer: undefined })}>
          Add an issuer
        </button>
      }
    >
      <Shown of={found}>
        {(issuers) =>
          issuers.length === 0 ? (
            <Empty text="An issuer is a login service. Whoever has a login token of it gets a user token for it." />
          ) : (
            <List heads={['name', 'issuer', 'audience', 'keys', 'changed', hidden('actions')]}>
              {issuers.map((issuer) => (
                <tr key={issuer.name}>
                  <th scope="row">{issuer.name}</th>
                  <td>
                    <code class="wrap">{issuer.issuer}</code>
                  </td>
                  <td>
                    <code class="wrap">{issuer.audience}</code>
                  </td>
                  <td data-label="keys">{issuer.keys ? `${issuer.keys.keys.length} given` : 'from a URL'}</td>
                  <td class="nowrap" data-label="changed">
                    <Time ms={issuer.updatedAt} />
                  </td>
                  <td class="num nowrap">
                    <button type="button" aria-label={`Change ${issuer.name}`} onClick={set(putting, { issuer })}>
                      Change
                    </button>{' '}
                    <button type="button" aria-label={`Delete ${issuer.name}`} onClick={set(deleting, issuer)}>
                      Delete
                    </button>
                  </td>
                </tr>
              ))}
            </List>
          )
        }
      </Shown>
      {putting.value && (
        <PutIssuer
          of={putting.value.issuer}
          names={(found.value.value ?? []).map(({ name }) => name)}
          onPut={() => {
            putting.value = undefined
            found.reload()
          }}
          onClose={set(putting, undefined)}
        />
      )}
      {deleting.value && (
        <Confirm
          title={`Delete ${deleting.value.name}?`}
          action="Delete the issuer"
          run={() => remove(deleting.value!)}
          onClose={set(deleting, undefined)}
        >
          <p>
            Its login tokens are not exchanged any more, and the tokens of all its users end. If you add it again, they
            get new ones.
          </p>
        </Confirm>
      )}
    </Section>
  )
}
