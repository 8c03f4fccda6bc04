import { readdirSync, readFileSync } from 'node:fs'

// CPU and memory of processes, from /proc. Undefined without /proc.

const hasProc = process.platform === 'linux'
const ticksPerSecond = 100

const childrenOf = (pid: number): number[] => {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    )
  } catch {
    return []
  }
}

/** The process and all its descendants. */
export const processTree = (pid: number): number[] => [pid, ...childrenOf(pid).flatMap(processTree)]

/** Children of this process, by program name: a database server that a library started. */
export const ownChildren = (program: string): number[] =>
  childrenOf(process.pid).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === program
    } catch {
      return false
    }
  })

/** User and system time of all threads. */
export const cpuSeconds = (pids: number[]): number | undefined => {
  if (!hasProc) return undefined
  let ticks = 0
  for (const pid of pids) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      // The program name, in parentheses, may contain any character.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      ticks += Number(fields[11]) + Number(fields[12])
    } catch {
      // It has ended.
    }
  }
  return ticks / ticksPerSecond
}

const mappingHeader = /^[0-9a-f]+-[0-9a-f]+ ...(.) /
const residentLine = /^Rss:\s+(\d+) kB/

/** Does not count mapped files: they are in the system's page cache, which shrinks when memory is needed. */
const residentKibibytes = (pid: number): number => {
  let kibibytes = 0
  let isShared = false
  try {
    for (const line of readFileSync(`/proc/${pid}/smaps`, 'utf8').split('\n')) {
      const header = mappingHeader.exec(line)
      if (header !== null) isShared = header[1] === 's'
      else if (!isShared) kibibytes += Number(residentLine.exec(line)?.[1] ?? 0)
    }
  } catch {
    // It has ended.
  }
  return kibibytes
}

/** Sum of the resident memory. Memory that processes share counts for each of them. */
export const residentBytes = (pids: number[]): number | undefined =>
  hasProc ? pids.reduce((sum, pid) => sum + residentKibibytes(pid), 0) * 1024 : undefined

export interface Usage {
  /** Busy cores: 1 is one core. */
  cpuCores: number | undefined
  /** The highest value seen. */
  residentBytes: number | undefined
}

/** Measures what the processes use from now until `stop`. `helpers` count only for CPU. */
export const watchUsage = (pids: () => number[], helpers: () => number[] = () => []): { stop(): Usage } => {
  const started = performance.now()
  const cpu = () => cpuSeconds([...pids(), ...helpers()])
  const before = cpu()
  let highest = residentBytes(pids())
  const look = () => {
    const now = residentBytes(pids())
    if (now !== undefined && highest !== undefined && now > highest) highest = now
  }
  // It looks once a second, because each reading takes milliseconds.
  const timer = setInterval(look, 1_000)
  return {
    stop() {
      clearInterval(timer)
      look()
      const after = cpu()
      const seconds = (performance.now() - started) / 1000
      return {
        cpuCores: before === undefined || after === undefined ? undefined : (after - before) / seconds,
        residentBytes: highest,
      }
    },
  }
}
