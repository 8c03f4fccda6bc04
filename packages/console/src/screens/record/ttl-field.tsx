import { useId } from 'preact/hooks'
import { isExpired } from '../../../../server/src/core/records/expiry.ts'
import { serverNowMs } from '../../api/clock.ts'
import { age } from '../../ui/time.tsx'
import { readTtl, ttlMeaning } from './ttl.ts'

/** The ttl as typed, and under it the time that it means. */
export const TtlField = ({ value, onChange }: { value: string; onChange: (typed: string) => void }) => {
  const id = useId()
  const nowMs = serverNowMs()
  const ttl = readTtl(value, nowMs)
  const isFaulty = ttl.fault !== undefined
  return (
    <div class={isFaulty ? 'ttl faulty' : 'ttl'}>
      <input
        class="mono"
        aria-label="Expires (ttl)"
        placeholder="never"
        autocomplete="off"
        spellcheck={false}
        value={value}
        aria-describedby={id}
        aria-invalid={isFaulty}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <div id={id} class="field-note">
        {isFaulty ? (
          <>
            <strong>Error: </strong>
            {ttl.fault}
          </>
        ) : ttl.seconds === undefined ? (
          <span class="ttl-help">A date-time, epoch seconds or "in 30 days". Empty: it does not expire.</span>
        ) : (
          `${age(ttl.seconds * 1000)}${isExpired(ttl.seconds, nowMs) ? ' (it expires at once)' : ''} · ${ttlMeaning(ttl.seconds)} · ${ttl.seconds}`
        )}
      </div>
    </div>
  )
}
