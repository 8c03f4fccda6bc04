import { readFileSync, writeSync } from 'node:fs'
import { clearLine, elapsedLine, everyMs, progressLine, type ShownStep } from './progress-line.ts'

// Draws the line of progress while the main thread is blocked by one call of the database, such as a VACUUM.

/** The bytes that this process has written so far. Only Linux tells. */
const bytesWritten = (): number | undefined => {
  try {
    return Number(/^wchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))![1])
  } catch {
    return undefined
  }
}

let timer: ReturnType<typeof setInterval> | undefined

const showStep = ({ name, writes, current, number, columns }: ShownStep): void => {
  clearInterval(timer)
  const startedAtMs = performance.now()
  const before = bytesWritten()
  const draw = (): void => {
    const elapsedMs = performance.now() - startedAtMs
    const now = writes === undefined ? undefined : bytesWritten()
    const isKnown = now !== undefined && before !== undefined && now > before
    const line = isKnown
      ? `${name}  ${progressLine(now - before, elapsedMs, (now - before) / writes!, 'byte')}`
      : `${name}  ${elapsedLine(elapsedMs)}`
    // The main thread draws itself, or has begun another step.
    if (Atomics.load(current, 0) !== number) clearInterval(timer)
    else writeSync(2, `${clearLine}${line.slice(0, columns)}`)
  }
  timer = setInterval(draw, everyMs)
  draw()
}

declare const self: Worker
self.onmessage = ({ data }: MessageEvent<ShownStep>) => showStep(data)
