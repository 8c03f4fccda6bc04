interface Bar {
  label: string
  count: number
}

interface Props {
  /** The title of the chart, also for screen readers. */
  title: string
  bars: Bar[]
  /** A count as text: bytes, runs, writes. */
  show?: (count: number) => string
}

const height = 64

/** A small bar chart: the line at its top is the largest value. The same figures are in a table for screen readers. */
export const Bars = ({ title, bars, show = (count) => count.toLocaleString('en') }: Props) => {
  const max = Math.max(1, ...bars.map(({ count }) => count))
  return (
    <figure class="bars">
      <figcaption>{title}</figcaption>
      <div class="bars-plot" aria-hidden="true">
        <span class="bars-max">{show(max)}</span>
        {bars.map(({ label, count }) => (
          <div class="bars-bar" key={label} title={`${label}: ${show(count)}`}>
            <div style={{ height: `${Math.round((count / max) * height)}px` }} />
          </div>
        ))}
      </div>
      <div class="bars-scale" aria-hidden="true">
        <span>{bars[0]?.label}</span>
        <span>{bars.at(-1)?.label}</span>
      </div>
      <table class="offscreen">
        <caption>{title}</caption>
        <tbody>
          {bars.map(({ label, count }) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              <td>{show(count)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  )
}
