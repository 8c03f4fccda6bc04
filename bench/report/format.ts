/** 1234567 → `1,234,567`. */
export const formatCount = (value: number): string => Math.round(value).toLocaleString('en-US')

/** Shows three digits, which is already more precise than the noise; thousands are shown as integers. */
export const formatRate = (value: number): string => (value < 100 ? value.toPrecision(3) : formatCount(value))

export const formatMs = (value: number): string => (value < 10 ? value.toFixed(2) : value.toFixed(1))

export const formatPercent = (part: number): string => `${Math.round(part * 100)} %`

export const formatMegabytes = (bytes: number | undefined): string =>
  bytes === undefined ? '-' : `${Math.round(bytes / 1e6)} MB`

/** Busy cores in percent, as in `top`. */
export const formatCpu = (cores: number | undefined): string => (cores === undefined ? '-' : formatPercent(cores))

export const formatRatio = (ratio: number | undefined): string => (ratio === undefined ? '-' : ratio.toFixed(2))
