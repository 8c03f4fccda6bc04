import { group, httpRequest, type Part, type RequestTemplate, type Shape } from '../load/template.ts'
import { batchPlus, batchRecords, dataParts, groupPrefix, pageRows, recordKey, type Scenario } from '../workload.ts'
import type { Dialect } from './subject.ts'

export const table = '/v1/bench/items'

export const tableIndices = {
  i1: { hashField: 'status', rangeField: 'score' },
  i2: { hashField: 'owner', rangeField: 'score' },
}

const putOperation = (plus: number, before = ''): Part[] => [
  `{${before}"hashKey":"`,
  ...recordKey(plus),
  '","data":',
  ...dataParts(),
  '}',
]

/** Cubby's HTTP API. The floor gets the same requests, with its own path for each scenario. */
export class CubbyDialect implements Dialect {
  constructor(
    private readonly apiKey: string,
    private readonly pathOf: (scenario: Scenario) => string = () => table,
  ) {}

  #headers() {
    return { Authorization: `Bearer ${this.apiKey}` }
  }

  #get(path: string): Part[] {
    return httpRequest({ method: 'GET', path: [`${path}/`, ...recordKey()], headers: this.#headers() })
  }

  #put(path: string): Part[] {
    return httpRequest({ method: 'PUT', path: [path], headers: this.#headers(), body: putOperation(0) })
  }

  query(body: Part[], path = table): Part[] {
    return httpRequest({ method: 'POST', path: [`${path}/query`], headers: this.#headers(), body })
  }

  batch(pluses: number[], path = table): Part[] {
    const operations = pluses.flatMap((plus, i) => [i === 0 ? '' : ',', ...putOperation(plus, '"op":"put",')])
    const body = ['{"operations":[', ...operations, ']}']
    return httpRequest({ method: 'POST', path: [`${path}/batch`], headers: this.#headers(), body })
  }

  templates(scenario: Scenario, shape: Shape): RequestTemplate[] {
    const path = this.pathOf(scenario)
    switch (scenario) {
      case 'get':
        return [{ times: 1, parts: this.#get(path) }]
      case 'put':
        return [{ times: 1, parts: this.#put(path) }]
      case 'page': {
        const body = [`{"index":"i1","hash":"${groupPrefix}`, group, `","limit":${pageRows}}`]
        return [{ times: 1, parts: this.query(body, path) }]
      }
      case 'newest':
        return [{ times: 1, parts: this.query([`{"index":"t","limit":${pageRows}}`], path) }]
      case 'batch': {
        const pluses = Array.from({ length: batchRecords }, (_, i) => batchPlus(i, shape))
        return [{ times: 1, parts: this.batch(pluses, path) }]
      }
      case 'mixed':
        return [
          { times: 9, parts: this.#get(path) },
          { times: 1, parts: this.#put(path) },
        ]
    }
  }

  fault(scenario: Scenario, status: number, text: string): string | undefined {
    if (status !== 200) return 'no success'
    const body = JSON.parse(text)
    switch (scenario) {
      case 'get':
      case 'put':
      case 'mixed':
        return body.data?.tags?.length === 3 ? undefined : 'not the record'
      case 'page':
      case 'newest':
        return body.items?.length === pageRows && body.cursor !== null ? undefined : `not a page of ${pageRows}`
      case 'batch':
        return body.count === batchRecords ? undefined : `not ${batchRecords} applied`
    }
  }
}
