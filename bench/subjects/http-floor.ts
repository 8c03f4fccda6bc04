import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryDirectory } from '../cleanup.ts'
import type { ApiResponse } from '../floor/http.ts'
import { renderRequest } from '../load/template.ts'
import { type Scenario, scenarios } from '../workload.ts'
import { CubbyDialect } from './cubby-dialect.ts'
import { startServer } from './server-process.ts'
import { askOnce, HttpSubject, type LoadSettings } from './subject.ts'

const program = fileURLToPath(new URL('../floor/http.ts', import.meta.url))

/** As long as Cubby's path, so that requests have the same length. */
const pathOf = (scenario: Scenario): string => `/v1/floor/${scenario.slice(0, 5).padEnd(5, '-')}`

/** Headers that HTTP itself sets on every response. */
const ownHeaders = ['date', 'content-length', 'connection', 'keep-alive', 'transfer-encoding']

const routeOf = (method: string, path: string): string => (method === 'GET' ? path.replace(/[^/]+$/, ':hashKey') : path)

/** Sends each request to Cubby once, and starts the server that sends these responses. */
export const startHttpFloor = async (cubby: HttpSubject, load: LoadSettings): Promise<HttpSubject> => {
  const { shape } = cubby
  const dialect = new CubbyDialect('x'.repeat(47), pathOf)
  const answers: ApiResponse[] = []
  for (const scenario of scenarios) {
    const asked = cubby.dialect.templates(scenario, shape)
    const mine = dialect.templates(scenario, shape)
    for (const [i, { parts }] of asked.entries()) {
      const response = await askOnce(cubby.server.port, parts, shape)
      const body = await response.text()
      const fault = cubby.dialect.fault(scenario, response.status, body)
      if (fault !== undefined) throw new Error(`floor, ${scenario}: ${fault}: ${response.status} ${body.slice(0, 400)}`)
      const [method, path] = renderRequest(mine[i]!.parts, shape).split(' ') as [string, string]
      const headers = Object.fromEntries([...response.headers].filter(([name]) => !ownHeaders.includes(name)))
      answers.push({ method, path: routeOf(method, path), headers, body })
    }
  }
  const file = join(temporaryDirectory(), 'answers.json')
  writeFileSync(file, JSON.stringify(answers))
  const server = await startServer({ command: [process.execPath, program, file] })
  return new HttpSubject('http floor', server, dialect, shape, load)
}
