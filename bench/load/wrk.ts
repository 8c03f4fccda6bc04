import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runChild, temporaryDirectory } from '../cleanup.ts'
import type { LoadPlan, LoadResult } from './load.ts'
import type { Part, RequestTemplate } from './template.ts'

export const findWrk = (): string | undefined => Bun.which('wrk') ?? undefined

/** `wrk 4.1.0 [epoll] …`. Its exit code is 1 also on success. */
export const wrkVersion = (): string | undefined => {
  const path = findWrk()
  if (path === undefined) return undefined
  const { stdout } = Bun.spawnSync([path, '-v'], { stderr: 'ignore' })
  return /^wrk (\S+)/.exec(stdout.toString())?.[1]
}

/** Lua has other escapes than JSON. Our texts are ASCII. */
const luaString = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\r', '\\r').replaceAll('\n', '\\n')}'`

const luaFill = (part: Exclude<Part, string>): string => {
  switch (part.hole) {
    case 'record':
      return `eight((base + ${part.plus}) % records)`
    case 'group':
      return 'five(random(0, groups - 1))'
    case 'score':
      return 'two[random(10, 99)] .. four[random(0, 9999)] .. four[random(0, 9999)]'
    case 'rising':
      return `string.format('%.0f', risen)`
  }
}

const luaTemplate = (template: RequestTemplate, number: number): string => {
  const texts = template.parts.map((part) => (typeof part === 'string' ? luaString(part) : "''"))
  const fills = template.parts.flatMap((part, i) =>
    typeof part === 'string' ? [] : [`p[${i + 1}] = ${luaFill(part)}`],
  )
  return `
local p${number} = { ${texts.join(',\n  ')} }
local function request${number}(base)
  local p = p${number}
  ${fills.join('\n  ')}
  return concat(p)
end`
}

const luaScript = ({ templates, shape }: LoadPlan): string => `
local random, floor, concat = math.random, math.floor, table.concat
local records, groups = ${shape.records}, ${shape.groups}
local two, four = {}, {}
for i = 0, 99 do two[i] = string.format('%02d', i) end
for i = 0, 9999 do four[i] = string.format('%04d', i) end
local function eight(n) return four[floor(n / 10000)] .. four[n % 10000] end
local function five(n) return string.format('%d', floor(n / 10000)) .. four[n % 10000] end
local risen = ${Date.now()}
${templates.map(luaTemplate).join('\n')}
local cycle = { ${templates.flatMap(({ times }, i) => Array(times).fill(`request${i}`)).join(', ')} }
local turn = 0

local threads = 0
function setup(thread)
  threads = threads + 1
  thread:set('number', threads)
end

function init()
  math.randomseed(os.time() * 100 + number)
  risen = risen + number * 1000000
end

function request()
  turn = turn + 1
  risen = risen + 1
  return cycle[turn % #cycle + 1](random(0, records - 1))
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    'RESULT {"requests":%d,"microseconds":%d,"p50Us":%.0f,"p99Us":%.0f,"maxUs":%.0f,"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), latency.max,
    e.connect, e.read, e.write, e.status, e.timeout))
end
`

let scripts = 0

/** wrk accepts only whole seconds. */
export const runWrk = async (plan: LoadPlan, threads: number): Promise<LoadResult> => {
  const script = join(temporaryDirectory(), `load-${++scripts}.lua`)
  writeFileSync(script, luaScript(plan))
  const seconds = Math.max(1, Math.round(plan.seconds!))
  const { stdout, cpuSeconds } = await runChild([
    findWrk()!,
    ...['-t', String(threads), '-c', String(plan.connections), '-d', `${seconds}s`, '--timeout', '10s'],
    ...['-s', script, `http://127.0.0.1:${plan.port}`],
  ])
  const line = /^RESULT (.*)$/m.exec(stdout)?.[1]
  if (line === undefined) throw new Error(`wrk gave no result:\n${stdout}`)
  const { microseconds, requests, p50Us, p99Us, maxUs, ...errors } = JSON.parse(line)
  return { requests, seconds: microseconds / 1e6, p50Us, p99Us, maxUs, errors, cpuSeconds }
}
