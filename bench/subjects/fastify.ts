import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { group, httpRequest, type Part, type RequestTemplate, type Shape } from '../load/template.ts'
import { batchPlus, batchRecords, dataParts, groupPrefix, pageRows, recordKey, type Scenario } from '../workload.ts'
import { fillPeer, peerDirectory, peerFile, peerNode } from './peers.ts'
import { startServer } from './server-process.ts'
import { type Dialect, HttpSubject, type LoadSettings } from './subject.ts'

const apiKey = 'k'.repeat(47)
const headers = { Authorization: `Bearer ${apiKey}` }

const get = (): Part[] => httpRequest({ method: 'GET', path: ['/items/', ...recordKey()], headers })
const put = (): Part[] => httpRequest({ method: 'PUT', path: ['/items/', ...recordKey()], headers, body: dataParts() })
const batch = (pluses: number[]): Part[] => {
  const items = pluses.flatMap((plus, i): Part[] => [
    `${i === 0 ? '' : ','}{"key":"`,
    ...recordKey(plus),
    '","data":',
    ...dataParts(),
    '}',
  ])
  return httpRequest({ method: 'POST', path: ['/items/batch'], headers, body: ['[', ...items, ']'] })
}

const dialect: Dialect = {
  templates(scenario: Scenario, shape: Shape): RequestTemplate[] {
    const path = (parts: Part[]) => [{ times: 1, parts: httpRequest({ method: 'GET', path: parts, headers }) }]
    switch (scenario) {
      case 'get':
        return [{ times: 1, parts: get() }]
      case 'put':
        return [{ times: 1, parts: put() }]
      case 'page':
        return path([`/items?status=${groupPrefix}`, group, `&limit=${pageRows}`])
      case 'newest':
        return path([`/items?limit=${pageRows}`])
      case 'batch':
        return [{ times: 1, parts: batch(Array.from({ length: batchRecords }, (_, i) => batchPlus(i, shape))) }]
      case 'mixed':
        return [
          { times: 9, parts: get() },
          { times: 1, parts: put() },
        ]
    }
  },
  fault(scenario, status, text) {
    if (status !== 200) return 'no success'
    const body = JSON.parse(text)
    if (scenario === 'page' || scenario === 'newest') return body.items?.length === pageRows ? undefined : 'not a page'
    if (scenario === 'batch') return body.count === batchRecords ? undefined : 'not all applied'
    return body.data?.tags?.length === 3 ? undefined : 'not the record'
  },
}

/** The hand-written service in bench/peers/fastify-service.js. */
export const startFastify = async (shape: Shape, load: LoadSettings): Promise<HttpSubject> => {
  const dir = peerDirectory('fastify')
  mkdirSync(dir)
  const command = [peerNode, peerFile('fastify-service.js'), join(dir, 'items.db'), apiKey]
  const server = await startServer({ command, env: { NODE_ENV: 'production' } })
  const bytesPerRecord = await fillPeer('fastify', server, dir, shape, batch)
  return new HttpSubject('fastify + better-sqlite3', server, dialect, shape, load, bytesPerRecord)
}
