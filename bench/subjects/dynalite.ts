import { group, httpRequest, type Part, type RequestTemplate, rising, type Shape, score } from '../load/template.ts'
import { batchPlus, batchRecords, groupPrefix, ownerPrefix, pageRows, recordKey, type Scenario } from '../workload.ts'
import { fillPeer, peerDirectory, peerFile, peerNode } from './peers.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { type Dialect, HttpSubject, type LoadSettings } from './subject.ts'

/** dynalite requires a signature but does not check it. */
const headersFor = (operation: string) => ({
  'X-Amz-Target': `DynamoDB_20120810.${operation}`,
  'X-Amz-Date': '20260101T000000Z',
  Authorization:
    'AWS4-HMAC-SHA256 Credential=bench/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0',
})

const call = (operation: string, body: Part[]): Part[] =>
  httpRequest({ method: 'POST', path: ['/'], headers: headersFor(operation), body }).map((part) =>
    typeof part === 'string' ? part.replace('application/json', 'application/x-amz-json-1.0') : part,
  )

/** The same record in DynamoDB's types. `all` and `updatedAt` form the index by time, which is built into Cubby. */
const item = (plus = 0): Part[] => [
  '{"key":{"S":"',
  ...recordKey(plus),
  `"},"all":{"S":"a"},"updatedAt":{"N":"`,
  rising,
  `"},"status":{"S":"${groupPrefix}`,
  group,
  '"},"score":{"N":"',
  score,
  `"},"owner":{"S":"${ownerPrefix}`,
  group,
  `"},"title":{"S":"A record of the benchmark"},"text":{"S":"Long enough to be a note, an order or a line in a log, and no longer: most records that applications keep have a few hundred bytes and a handful of fields."},"tags":{"L":[{"S":"alpha"},{"S":"beta"},{"S":"gamma"}]},"done":{"BOOL":false}}`,
]

const get = (): Part[] => call('GetItem', ['{"TableName":"items","Key":{"key":{"S":"', ...recordKey(), '"}}}'])
const put = (): Part[] => call('PutItem', ['{"TableName":"items","Item":', ...item(), '}'])
const batch = (pluses: number[]): Part[] => {
  const puts = pluses.flatMap((plus, i): Part[] => [`${i === 0 ? '' : ','}{"PutRequest":{"Item":`, ...item(plus), '}}'])
  return call('BatchWriteItem', ['{"RequestItems":{"items":[', ...puts, ']}}'])
}
const query = (index: string, attribute: string, value: Part[], more: string): Part[] =>
  call('Query', [
    `{"TableName":"items","IndexName":"${index}","Limit":${pageRows}${more},"KeyConditionExpression":"#h = :h","ExpressionAttributeNames":{"#h":"${attribute}"},"ExpressionAttributeValues":{":h":{"S":"`,
    ...value,
    '"}}}',
  ])

const dialect: Dialect = {
  templates(scenario: Scenario, shape: Shape): RequestTemplate[] {
    switch (scenario) {
      case 'get':
        return [{ times: 1, parts: get() }]
      case 'put':
        return [{ times: 1, parts: put() }]
      case 'page':
        return [{ times: 1, parts: query('byStatus', 'status', [groupPrefix, group], '') }]
      case 'newest':
        return [{ times: 1, parts: query('byTime', 'all', ['a'], ',"ScanIndexForward":false') }]
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
    switch (scenario) {
      case 'get':
        return body.Item?.tags?.L.length === 3 ? undefined : 'not the record'
      case 'page':
      case 'newest':
        return body.Items?.length === pageRows ? undefined : 'not a page'
      case 'batch':
        return Object.keys(body.UnprocessedItems).length === 0 ? undefined : 'not all applied'
      default:
        return undefined
    }
  },
}

const createTable = async (server: ServerProcess): Promise<void> => {
  const type = (name: string, kind: string) => ({ AttributeName: name, AttributeType: kind })
  const keys = (hash: string, range?: string) => [
    { AttributeName: hash, KeyType: 'HASH' },
    ...(range === undefined ? [] : [{ AttributeName: range, KeyType: 'RANGE' }]),
  ]
  const index = (name: string, hash: string, range: string) => ({
    IndexName: name,
    KeySchema: keys(hash, range),
    Projection: { ProjectionType: 'ALL' },
  })
  const ask = async (operation: string, body: unknown) => {
    const response = await fetch(`http://127.0.0.1:${server.port}/`, {
      method: 'POST',
      headers: { ...headersFor(operation), 'Content-Type': 'application/x-amz-json-1.0' },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`dynalite ${operation}: ${text}`)
    return text
  }
  await ask('CreateTable', {
    TableName: 'items',
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [
      type('key', 'S'),
      type('status', 'S'),
      type('owner', 'S'),
      type('all', 'S'),
      type('score', 'N'),
      type('updatedAt', 'N'),
    ],
    KeySchema: keys('key'),
    GlobalSecondaryIndexes: [
      index('byStatus', 'status', 'score'),
      index('byOwner', 'owner', 'score'),
      index('byTime', 'all', 'updatedAt'),
    ],
  })
  for (
    let tries = 0;
    !(await ask('DescribeTable', { TableName: 'items' })).includes('"TableStatus":"ACTIVE"');
    tries++
  ) {
    if (tries === 100) throw new Error('the table of dynalite does not become active')
    await Bun.sleep(50)
  }
}

/** bench/peers/dynalite-service.js, with requests of DynamoDB's JSON API. */
export const startDynalite = async (shape: Shape, load: LoadSettings): Promise<HttpSubject> => {
  const dir = peerDirectory('dynalite')
  const server = await startServer({
    command: [peerNode, peerFile('dynalite-service.js'), dir],
    // Node's default of four threads for LevelDB. With 64, so that more writers can share a sync, it was slower.
    env: { NODE_ENV: 'production' },
  })
  await createTable(server)
  const bytesPerRecord = await fillPeer('dynalite', server, dir, shape, batch)
  return new HttpSubject('dynalite', server, dialect, shape, load, bytesPerRecord)
}
