/** 1234567 → `1,234,567`. */
export const formatCount = (value: number): string => Math.round(value).toLocaleString('en-US')

/** Three digits are more than the noise leaves; thousands are shown whole. */
export const formatRate = (value: number): string => (value < 100 ? value.toPrecision(3) : formatCount(value))

export const formatMs = (value: number): string => (value < 10 ? value.toFixed(2) : value.toFixed(1))

export const formatPercent = (part: number): string => `${Math.round(part * 100)} %`

export const formatMegabytes = (bytes: number | undefined): string =>
  bytes === undefined ? '-' : `${Math.round(bytes / 1e6)} MB`

/** Cores kept busy, as top shows them. */
export const formatCpu = (cores: number | undefined): string => (cores === undefined ? '-' : formatPercent(cores))

export const formatRatio = (ratio: number | undefined): string => (ratio === undefined ? '-' : ratio.toFixed(2))
