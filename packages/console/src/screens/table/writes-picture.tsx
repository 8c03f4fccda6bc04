import { useSignal } from '@preact/signals'
import { serverNowMs } from '../../api/clock.ts'
import type { Page, RecordRow } from '../../api/types.ts'
import { set } from '../../ui/action.tsx'
import { Bars } from '../../ui/bars.tsx'
import { Shown, useLoad } from '../../ui/load.tsx'
import type { TableQuery } from './table-query.ts'
import { spansOf, type Unit } from './write-times.ts'

const countMax = 10_000
/** The counts that are asked for at once. */
const countsAtOnce = 4

const show = (count: number): string => `${count.toLocaleString('en')}${count >= countMax ? '+' : ''}`

const countEach = async (query: TableQuery, unit: Unit, signal: AbortSignal) => {
  const bars = spansOf(unit, serverNowMs()).map((span) => ({ ...span, count: 0 }))
  for (let at = 0; at < bars.length; at += countsAtOnce) {
    await Promise.all(
      bars.slice(at, at + countsAtOnce).map(async (bar) => {
        const range = { gte: bar.fromMs, lt: bar.toMs }
        const members = [['index', '"t"']] as const
        const page: Page<RecordRow> = await query.page(members, { range, select: 'count', limit: countMax }, signal)
        bar.count = page.count
      }),
    )
  }
  return bars
}

/** A chart of the records that were last written in each hour or day: counts over `t`. */
export const WritesPicture = ({ query }: { query: TableQuery }) => {
  const unit = useSignal<Unit>('hour')
  const loaded = useLoad((signal) => countEach(query, unit.value, signal), [query, unit.value])
  return (
    <section class="writes" aria-label="Writes">
      <div class="choice" role="radiogroup" aria-label="Time">
        {(['hour', 'day'] as const).map((each) => (
          <label key={each}>
            <input type="radio" name="writes-unit" checked={unit.value === each} onChange={set(unit, each)} />
            {each === 'hour' ? '24 hours' : '14 days'}
          </label>
        ))}
      </div>
      <div class="writes-plot">
        <Shown of={loaded} rows={2}>
          {(bars) => <Bars title={`Records by the ${unit.value} of their last write`} bars={bars} show={show} />}
        </Shown>
      </div>
    </section>
  )
}
