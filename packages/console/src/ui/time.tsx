import { serverNowMs } from '../api/clock.ts'
import { ageOf, showInstant } from '../text/instant.ts'

/** An age, with the exact time on hover and for screen readers. */
export const Time = ({ ms }: { ms: number }) => {
  const { utc } = showInstant(ms)
  return (
    <time dateTime={new Date(ms).toISOString()} title={utc}>
      {ageOf(ms, serverNowMs())}
    </time>
  )
}
