import { canWrite } from '../../state/session.ts'
import { showInstant } from '../../text/instant.ts'
import { age, Time } from '../../ui/time.tsx'
import type { Editing } from './editing.ts'
import { KeyField } from './key-field.tsx'
import { showKey } from './record-key.ts'
import { hashKeyHint, rangeKeyHint } from './save-as.tsx'
import { ttlMeaning } from './ttl.ts'
import { TtlField } from './ttl-field.tsx'

const Expires = ({ editing }: { editing: Editing }) => {
  const { ttl } = editing.base.value
  if (canWrite.value) return <TtlField value={editing.ttl.value} onChange={(typed) => editing.change({ ttl: typed })} />
  return <>{ttl === undefined ? 'never' : `${age(ttl * 1000)}, ${ttlMeaning(ttl)}`}</>
}

/** Version, times and the range key of a stored record. */
export const Facts = ({ editing }: { editing: Editing }) => {
  const { version } = editing.base.value
  const rangeKey = editing.key?.rangeKey
  const saves = editing.saves.value
  return (
    <dl class="facts record-facts">
      {rangeKey !== undefined && (
        <>
          <dt>range key</dt>
          <dd class="mono">{showKey(rangeKey)}</dd>
        </>
      )}
      {version !== undefined && (
        <>
          <dt>version</dt>
          <dd key={`version ${saves}`} class={saves > 0 ? 'mono changed' : 'mono'}>
            {version}
          </dd>
          <dt>written</dt>
          <dd key={`written ${saves}`} class={saves > 0 ? 'changed' : ''}>
            <Time ms={version} />, {showInstant(version).utc}
          </dd>
        </>
      )}
      <dt>expires</dt>
      <dd>
        <Expires editing={editing} />
      </dd>
    </dl>
  )
}

/** Keys and ttl of a record that is not stored yet. */
export const NewFacts = ({ editing }: { editing: Editing }) => (
  <div class="new-facts">
    <KeyField
      label="Hash key"
      hint={hashKeyHint}
      value={editing.hashKey.value}
      onChange={(hashKey) => editing.change({ hashKey })}
    />
    <KeyField
      label="Range key"
      hint={rangeKeyHint}
      isOptional
      value={editing.rangeKey.value}
      onChange={(rangeKey) => editing.change({ rangeKey })}
    />
    <div class="field">
      <span class="label">Expires</span>
      <TtlField value={editing.ttl.value} onChange={(typed) => editing.change({ ttl: typed })} />
    </div>
  </div>
)
