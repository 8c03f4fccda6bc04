const unitMs: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds of a duration such as `90s`, `30m`, `24h` or `7d`; undefined for every other text. */
export const parseDuration = (text: string): number | undefined => {
  const match = /^([0-9]{1,9})([smhd])$/.exec(text)
  return match === null ? undefined : Number(match[1]) * unitMs[match[2]!]!
}

/** The shortest such text. */
export const showDuration = (ms: number): string => {
  const [unit, size] = Object.entries(unitMs).findLast(([, size]) => ms % size === 0 && ms >= size) ?? ['s', 1_000]
  return `${Math.round(ms / size)}${unit}`
}
