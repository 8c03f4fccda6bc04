import { agesNowMs } from '../api/clock.ts'
import { ageOf, showInstant } from '../text/instant.ts'

/** An age as text. A component that shows it is drawn again as time goes on. */
export const age = (ms: number): string => ageOf(ms, agesNowMs.value)

/** An age, with the exact time on hover and for screen readers. */
export const Time = ({ ms }: { ms: number }) => (
  <time dateTime={new Date(ms).toISOString()} title={showInstant(ms).utc}>
    {age(ms)}
  </time>
)
