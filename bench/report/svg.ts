// Charts as plain SVG. Each has its own background and follows the reader's light or dark setting, so it is readable on
// any page.

const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const light = ['#2563c9', '#7a828e', '#c9731b', '#1d8577', '#8048c4']
const dark = ['#6ea8ff', '#a3abb6', '#f2a65a', '#5cc9b8', '#c29bf2']

const colors = (palette: string[]): string =>
  palette.map((color, i) => `.c${i}{fill:${color}}.l${i}{stroke:${color}}`).join('')

const style = `<style>
text{font:13px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#1f2328}
.title{font-size:15px;font-weight:600}.group{font-weight:600}.faint{fill:#59636e}
.back{fill:#ffffff;stroke:#d1d9e0}.grid{stroke:#d1d9e0;stroke-width:1}.line{fill:none;stroke-width:2}
${colors(light)}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.faint{fill:#9198a1}.back{fill:#151b23;stroke:#3d444d}.grid{stroke:#3d444d}
${colors(dark)}}
</style>`

const width = 760

const frame = (title: string, height: number, content: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeText(title)}">
${style}
<rect class="back" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="6"/>
<text class="title" x="20" y="30">${escapeText(title)}</text>
${content}
</svg>
`

const round = (value: number): string => value.toFixed(1)

export interface BarGroup {
  label: string
  bars: { label: string; value: number; text: string; color: number }[]
}

/** Groups of bars. Each group has its own scale; its longest bar has the full width. */
export const barChart = (title: string, groups: BarGroup[]): string => {
  const left = 200
  const longest = 360
  const parts: string[] = []
  let y = 58
  for (const { label, bars } of groups) {
    parts.push(`<text class="group" x="20" y="${y}">${escapeText(label)}</text>`)
    y += 8
    const most = Math.max(...bars.map(({ value }) => value))
    for (const bar of bars) {
      const length = Math.max(1, (bar.value / most) * longest)
      parts.push(
        `<text class="faint" x="${left - 10}" y="${y + 13}" text-anchor="end">${escapeText(bar.label)}</text>`,
        `<rect class="c${bar.color}" x="${left}" y="${y + 1}" width="${round(length)}" height="15" rx="2"/>`,
        `<text x="${round(left + length + 8)}" y="${y + 13}">${escapeText(bar.text)}</text>`,
      )
      y += 20
    }
    y += 24
  }
  return frame(title, y - 8, parts.join('\n'))
}

export interface Line {
  name: string
  values: number[]
}

/** Lines over labelled steps; the y axis begins at 0. */
export const lineChart = (title: string, steps: string[], lines: Line[], format: (value: number) => string): string => {
  const [left, right, top, bottom] = [80, width - 80, 80, 320]
  const highest = Math.max(...lines.flatMap(({ values }) => values))
  const tick = niceTick(highest)
  const most = Math.ceil(highest / tick) * tick
  const x = (i: number): number =>
    steps.length === 1 ? (left + right) / 2 : left + ((right - left) * i) / (steps.length - 1)
  const y = (value: number): number => bottom - ((bottom - top) * value) / most
  const parts: string[] = []
  for (let value = 0; value <= most + tick / 2; value += tick) {
    parts.push(
      `<line class="grid" x1="${left}" x2="${right}" y1="${round(y(value))}" y2="${round(y(value))}"/>`,
      `<text class="faint" x="${left - 8}" y="${round(y(value) + 4)}" text-anchor="end">${escapeText(format(value))}</text>`,
    )
  }
  steps.forEach((step, i) => {
    parts.push(
      `<text class="faint" x="${round(x(i))}" y="${bottom + 22}" text-anchor="middle">${escapeText(step)}</text>`,
    )
  })
  let legend = 20
  lines.forEach(({ name, values }, i) => {
    const points = values.map((value, step) => `${round(x(step))},${round(y(value))}`)
    parts.push(`<polyline class="line l${i}" points="${points.join(' ')}"/>`)
    for (const point of points) {
      const [cx, cy] = point.split(',')
      parts.push(`<circle class="c${i}" cx="${cx}" cy="${cy}" r="3.5"/>`)
    }
    parts.push(
      `<rect class="c${i}" x="${legend}" y="46" width="12" height="12" rx="2"/>`,
      `<text x="${legend + 18}" y="57">${escapeText(name)}</text>`,
    )
    legend += 40 + name.length * 7.5
  })
  return frame(title, bottom + 40, parts.join('\n'))
}

/** 1, 2 or 5 times a power of ten, for four to eight steps. */
const niceTick = (highest: number): number => {
  const rough = highest / 5
  const power = 10 ** Math.floor(Math.log10(rough))
  return [1, 2, 5, 10].map((factor) => factor * power).find((tick) => tick >= rough)!
}
