import { readFileSync } from 'node:fs'
import { cubbyCommand, makeTempDir, removeTempDir } from '../test/harness.ts'

// Measures how long a start on an empty directory takes, and how much memory the idle process holds:
//
//   bun packages/server/scripts/measure-start.ts [runs] [program]
//
// The program is that of the source; of the npm package it is packages/server/dist/main.js, after a build, or it is a binary.
// The bars: ready within 500 ms of process start, idle memory under 100 MB. Linux only: it reads /proc.

const program = process.argv[3]
const runs = Number(process.argv[2] ?? 10)
const idleMs = 3_000
const ticksPerSecond = 100

interface Measured {
  listeningMs: number
  readyMs: number
  memoryMb: number
  idleCpuPercent: number
}

const memoryMb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1000

/** User and system time so far (proc(5), fields 14 and 15 of stat). */
const cpuMs = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond
}

const measure = async (): Promise<Measured> => {
  const dataDir = makeTempDir()
  const started = performance.now()
  const child = Bun.spawn([...cubbyCommand(program), 'serve', '--data', dataDir, '--port', '0'], {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  })
  try {
    let log = ''
    for await (const chunk of child.stderr) {
      log += new TextDecoder().decode(chunk)
      if (log.includes('\n')) break
    }
    const listeningMs = performance.now() - started
    const response = await fetch(`${JSON.parse(log.split('\n')[0]!).url}/readyz`)
    if (response.status !== 200) throw new Error(`/readyz answered ${response.status}`)
    const readyMs = performance.now() - started
    const cpuBefore = cpuMs(child.pid)
    await Bun.sleep(idleMs)
    const idleCpuPercent = ((cpuMs(child.pid) - cpuBefore) / idleMs) * 100
    return { listeningMs, readyMs, memoryMb: memoryMb(child.pid), idleCpuPercent }
  } finally {
    child.kill('SIGKILL')
    await child.exited
    removeTempDir(dataDir)
  }
}

const results: Measured[] = []
for (let run = 0; run < runs; run++) results.push(await measure())

const show = (what: string, pick: (measured: Measured) => number, unit: string, bar?: number): void => {
  const values = results.map(pick).sort((a, b) => a - b)
  const [least, median, most] = [values[0]!, values[values.length >> 1]!, values.at(-1)!]
  const verdict = bar === undefined ? '' : most <= bar ? `  within ${bar} ${unit}` : `  OVER the bar of ${bar} ${unit}`
  console.log(`${what.padEnd(24)} ${least.toFixed(1)} / ${median.toFixed(1)} / ${most.toFixed(1)} ${unit}${verdict}`)
}

console.log(`${runs} starts on an empty directory, Bun ${Bun.version}: least / median / most`)
show('to the start-up line', ({ listeningMs }) => listeningMs, 'ms')
show('to an answer of /readyz', ({ readyMs }) => readyMs, 'ms', 500)
show('memory when idle', (measured) => measured.memoryMb, 'MB', 100)
show('CPU when idle', ({ idleCpuPercent }) => idleCpuPercent, '%')
