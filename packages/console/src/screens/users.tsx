import { useSignal } from '@preact/signals'
import { serverNowMs } from '../api/clock.ts'
import { read, send } from '../api/request.ts'
import type { CreateTokenResponse } from '../api/types.ts'
import { catalogue } from '../state/catalogue.ts'
import { session } from '../state/session.ts'
import { into, set } from '../ui/action.tsx'
import { announce } from '../ui/announce.ts'
import { Choice, FormDialog, TextField } from '../ui/form.tsx'
import { Section } from '../ui/screen.tsx'
import { ShownOnce } from '../ui/shown-once.tsx'

// The people who use an application: a token for one of them, and its end.

const lifetimes = [
  ['900', 'In 15 minutes'],
  ['3600', 'In an hour'],
  ['43200', 'In 12 hours'],
  ['86400', 'In a day'],
] as const

const jsonFault = (text: string): string | undefined => {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return `This is not JSON: ${(error as Error).message}`
  }
}

const exampleGrants = (): string =>
  JSON.stringify(
    [{ db: catalogue.value?.databases[0] ?? 'app', table: 'notes', hash: 'ada', can: 'write' }],
    undefined,
    2,
  )

const MakeToken = ({ onMade, onClose }: { onMade: (token: CreateTokenResponse) => void; onClose: () => void }) => {
  const user = useSignal('')
  const grants = useSignal(exampleGrants())
  const lifetime = useSignal('3600')
  const fault = jsonFault(grants.value)
  const { expiresAt } = session.value!.self
  const make = async () => {
    const body = `{"user":${JSON.stringify(user.value)},"grants":${grants.value},"expiresIn":${lifetime.value}}`
    onMade(await read<CreateTokenResponse>('POST', '/api/tokens', { body }))
  }
  return (
    <FormDialog title="Make a token" action="Make" isWide isDisabled={fault !== undefined} run={make} onClose={onClose}>
      <p>
        The token belongs to the key that you are signed in with, and ends with it
        {expiresAt !== null && expiresAt - serverNowMs() < 86_400_000 && ', also when you sign out'}. In an application,
        your server makes the tokens.
      </p>
      <TextField
        label="User"
        hint="The id that the person has in your application."
        value={user.value}
        onText={into(user)}
      />
      <TextField
        label="Grants"
        hint="A JSON array. The token allows what one of them names, and nothing else."
        fault={fault}
        rows={8}
        value={grants.value}
        onText={into(grants)}
      />
      <Choice label="Expires" options={lifetimes} value={lifetime.value} onText={into(lifetime)} />
    </FormDialog>
  )
}

const RevokeUser = ({ onClose }: { onClose: () => void }) => {
  const user = useSignal('')
  const revoke = async () => {
    await send('POST', '/api/tokens/revoke', { body: JSON.stringify({ user: user.value }) })
    announce(`The tokens of ${user.value} have ended`)
    onClose()
  }
  return (
    <FormDialog title="Revoke a user?" action="Revoke the user" isDangerous run={revoke} onClose={onClose}>
      <p>
        Every token that this user has got so far ends, and login tokens that were signed until now are not exchanged
        any more. A token that is made after that works.
      </p>
      <TextField
        label="User"
        hint="As in the token. A user of an issuer has its name in front, such as login:ada."
        value={user.value}
        onText={into(user)}
      />
    </FormDialog>
  )
}

export const Users = () => {
  const isMaking = useSignal(false)
  const isRevoking = useSignal(false)
  const made = useSignal<CreateTokenResponse | undefined>(undefined)
  return (
    <Section
      title="Users of your application"
      actions={
        <>
          <button type="button" onClick={set(isMaking, true)}>
            Make a token
          </button>
          <button type="button" onClick={set(isRevoking, true)}>
            Revoke a user
          </button>
        </>
      }
    >
      <p>
        With a user token, the browser or phone of one person reads and writes what its grants name, and nothing else.
        Tokens are not stored, so there is no list of them.
      </p>
      {isMaking.value && (
        <MakeToken
          onClose={set(isMaking, false)}
          onMade={(token) => {
            isMaking.value = false
            made.value = token
          }}
        />
      )}
      {made.value && (
        <ShownOnce
          title={`A token of ${made.value.user}`}
          what="the token"
          text={made.value.token}
          why="It is shown only once: the server does not keep it."
          expiresAt={made.value.expiresAt}
          onClose={set(made, undefined)}
        />
      )}
      {isRevoking.value && <RevokeUser onClose={set(isRevoking, false)} />}
    </Section>
  )
}
