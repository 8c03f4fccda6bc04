const two = (count: number): string => String(count).padStart(2, '0')

/** ISO text as people read it, without `.000`. */
const readable = (iso: string): string => iso.replace('T', ' ').replace('Z', '').replace('.000', '')

/** `2026-11-16 23:19:13.250 +01:00` and `2026-11-16 22:19:13.250 UTC`. */
export const showInstant = (ms: number): { local: string; utc: string } => {
  const date = new Date(ms)
  if (Number.isNaN(date.getTime())) return { local: 'not a time', utc: 'not a time' }
  const aheadMinutes = -Math.round(date.getTimezoneOffset())
  const shifted = new Date(date.getTime() + aheadMinutes * 60_000)
  const ahead = Math.abs(aheadMinutes)
  const offset = `${aheadMinutes < 0 ? '-' : '+'}${two(Math.floor(ahead / 60))}:${two(ahead % 60)}`
  const utc = `${readable(date.toISOString())} UTC`
  // The last hours that a Date can hold have no local form.
  if (Number.isNaN(shifted.getTime())) return { local: utc, utc }
  return { local: `${readable(shifted.toISOString())} ${offset}`, utc }
}

/** Each unit with its seconds and the count from which the next one is used. */
const units = [
  { name: 's', seconds: 1, below: 60 },
  { name: 'min', seconds: 60, below: 60 },
  { name: 'h', seconds: 3_600, below: 24 },
  { name: 'd', seconds: 86_400, below: 60 },
  { name: 'mo', seconds: 2_629_746, below: 24 },
  { name: 'y', seconds: 31_556_952, below: Number.POSITIVE_INFINITY },
]

const justNowSeconds = 10

/** `4 min ago`, `in 30 d`: rounded to the nearest, and written the same on every screen. */
export const ageOf = (ms: number, nowMs: number): string => {
  const seconds = Math.abs(nowMs - ms) / 1000
  if (!(seconds >= justNowSeconds)) return Number.isNaN(seconds) ? 'not a time' : 'just now'
  const unit = units.find((each) => Math.round(seconds / each.seconds) < each.below) ?? units.at(-1)!
  const count = Math.round(seconds / unit.seconds)
  const words = `${count} ${unit.name}`
  return ms > nowMs ? `in ${words}` : `${words} ago`
}

/** `1 byte`, `999 bytes`, `1.2 MB`, `410 kB`: decimal units. */
export const bytesOf = (count: number): string => {
  if (count < 1_000) return count === 1 ? '1 byte' : `${count} bytes`
  let value = count
  let unit = ''
  for (const next of ['kB', 'MB', 'GB', 'TB', 'PB']) {
    value /= 1_000
    unit = next
    // 999,600 bytes are 1 MB, not 1000 kB.
    if (Math.round(value) < 1_000) break
  }
  const shown = value < 9.95 ? value.toFixed(1).replace('.0', '') : String(Math.round(value))
  return `${shown} ${unit}`
}
