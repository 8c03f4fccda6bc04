import { alternate, measuringLoad } from './alternate.ts'
import { cleanUp, cleanUpAtExit, temporaryDirectory } from './cleanup.ts'
import { httpRequest, type Part, rising, score } from './load/template.ts'
import { createOrganization, fillTable, serveCubby } from './subjects/cubby.ts'
import { table } from './subjects/cubby-dialect.ts'
import { dataParts, recordKey, shapeOf } from './workload.ts'

// Puts, patches that increment a number, and puts with idempotency keys, random ones and such as begin with the time, in turn.
// Run it alone: npx bun bench/writes.ts [rounds] [seconds]

const [rounds, seconds] = [10, 2].map((usual, i) => Number(process.argv[2 + i] ?? usual)) as [number, number]
const shape = shapeOf(100_000)

cleanUpAtExit()
const location = ['--data', `${temporaryDirectory()}/writes`]
const apiKey = await createOrganization(location)
const server = await serveCubby(location)
await fillTable(server, apiKey, shape)

const put: Part[] = ['{"hashKey":"', ...recordKey(), '","data":', ...dataParts(), '}']
const patch: Part[] = ['{"hashKey":"', ...recordKey(), '","increment":{"/views":1}}']
const measure = (method: string, body: Part[], key: Part[] = []) => {
  const headers = { Authorization: `Bearer ${apiKey}`, ...(key.length > 0 && { 'Idempotency-Key': key }) }
  const parts = httpRequest({ method, path: [table], headers, body })
  return measuringLoad({ server, parts, shape, seconds })
}
await alternate(
  {
    put: measure('PUT', put),
    patch: measure('PATCH', patch),
    'put with a random key': measure('PUT', put, [score, score, score]),
    'put with a key that begins with the time': measure('PUT', put, [rising, score, score]),
  },
  rounds,
)
await server.stop()
await cleanUp()
process.exit(0)
