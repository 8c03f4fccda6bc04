import { readdirSync, readFileSync } from 'node:fs'
import type { Registry } from './registry.ts'

// The names of these are Prometheus' own, so that dashboards for any process fit: process_*.

const tickMs = 100
const delayBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/** Undefined on a system without /proc. */
const openFds = (): number | undefined => {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return undefined
  }
}

const maxFds = (): number | undefined => {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}

interface ProcessOptions {
  /** The start by the clock of the process. */
  startedAtMs: number
}

/** Returns what ends the timer. */
export const measureProcess = (registry: Registry, { startedAtMs }: ProcessOptions): (() => void) => {
  const cpu = registry.counter({ name: 'process_cpu_seconds_total', help: 'CPU time of all threads, user and system.' })
  const memory = registry.gauge({ name: 'process_resident_memory_bytes', help: 'Resident memory, with mapped files.' })
  const files = registry.gauge({ name: 'process_open_fds', help: 'Open file descriptors.' })
  const filesMax = registry.gauge({ name: 'process_max_fds', help: 'File descriptors that may be open.' })
  const started = registry.gauge({
    name: 'process_start_time_seconds',
    help: 'When the server started, in seconds since 1970.',
    isOfStore: true,
  })
  const delay = registry.histogram({
    name: 'cubby_event_loop_delay_seconds',
    help: 'The delay of the event loop, measured ten times a second: requests wait for so long.',
    buckets: delayBuckets,
  })
  registry.collect([memory, files, filesMax, started], () => {
    const { user, system } = process.cpuUsage()
    cpu.set((user + system) / 1e6)
    memory.set(process.memoryUsage.rss())
    files.set(openFds())
    filesMax.set(maxFds())
    started.set(startedAtMs / 1000)
  })
  let dueAt = performance.now() + tickMs
  const timer = setInterval(() => {
    const now = performance.now()
    delay.observe(Math.max(0, now - dueAt) / 1000)
    dueAt = now + tickMs
  }, tickMs)
  timer.unref()
  return () => clearInterval(timer)
}
