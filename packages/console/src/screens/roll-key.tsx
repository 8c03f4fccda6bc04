import { useSignal } from '@preact/signals'
import { serverNowMs } from '../api/clock.ts'
import { pathOf, read } from '../api/request.ts'
import type { KeyMetadata, RollKeyResponse } from '../api/types.ts'
import { session } from '../state/session.ts'
import { into } from '../ui/action.tsx'
import { Choice, FormDialog } from '../ui/form.tsx'
import { EndsWithSession } from './ends-with-session.tsx'

const [hourMs, dayMs] = [3_600_000, 86_400_000]

/** The times for which the old key still works. */
const overlaps = [
  [String(dayMs), 'For a day'],
  [String(7 * dayMs), 'For 7 days'],
  [String(30 * dayMs), 'For 30 days'],
  [String(hourMs), 'For an hour'],
  ['0', 'No longer: it is revoked'],
] as const

interface RollKeyProps {
  of: KeyMetadata
  onRolled: (key: RollKeyResponse) => void
  onClose: () => void
}

/** Makes a key like this one. Both work for a while. */
export const RollKey = ({ of: key, onRolled, onClose }: RollKeyProps) => {
  const overlap = useSignal<string>(String(dayMs))
  const own = session.value!.self
  const isRevoked = overlap.value === '0'
  const roll = async () => {
    const body = JSON.stringify({ expiresAt: isRevoked ? 0 : serverNowMs() + Number(overlap.value) })
    onRolled(await read<RollKeyResponse>('POST', `${pathOf('api', 'keys', key.id)}/roll`, { body }))
  }
  return (
    <FormDialog
      title={`Roll ${key.name ?? key.masked}?`}
      action="Roll the key"
      isDangerous={isRevoked}
      ifUnknown="The key may have been rolled all the same. Nobody can read the new one any more: if the list shows it, roll that one."
      run={roll}
      onClose={onClose}
    >
      {own.expiresAt !== null && (
        <EndsWithSession endMs={own.expiresAt} command={`keys roll ${key.id} --org ${own.organization}`} />
      )}
      <p>
        You get a new {key.kind} key with the same name and databases. Give it to the programs that use{' '}
        <code>{key.masked}</code> while both work.
      </p>
      <Choice label="The old key works" options={overlaps} value={overlap.value} onText={into(overlap)} />
      {key.id === own.id && (
        <p>
          You are signed in with it, and will be signed out {isRevoked ? 'at once' : 'when it ends'}: sign in with the
          new one.
        </p>
      )}
    </FormDialog>
  )
}
