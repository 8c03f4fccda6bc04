import { STATUS_CODES as reasons } from 'node:http'
import { errorCodes } from '../../src/core/error-codes.ts'
import { retryAfterSeconds, statusOf } from '../../src/http/status.ts'
import { errorBody, sharedErrors } from '../../src/openapi/error-examples.ts'
import { advice, meanings } from '../../src/openapi/errors.ts'
import { entriesOf } from '../../src/openapi/page/entries.ts'
import { document, exampleText } from './http-api.ts'
import { code, httpBlock, printJson } from './markdown.ts'

type Code = keyof typeof meanings

/** Headers that a response with this status has. */
const headersOf: Record<number, Record<string, string>> = {
  401: { 'WWW-Authenticate': 'Bearer' },
  503: { 'Retry-After': String(retryAfterSeconds) },
}

/** The first example of an operation with this code. */
const ownExample = (name: Code): string | undefined => {
  for (const { operation, samples } of entriesOf(document)) {
    const found = samples.find(
      ({ example }) => (example.response as { error?: { code: string } } | undefined)?.error?.code === name,
    )
    if (found !== undefined) return exampleText(operation.operationId, found.example.name)
  }
}

const sharedExample = (name: Code): string => {
  const error = sharedErrors[name]
  if (error === undefined) throw new Error(`no example has the code ${name}`)
  const status = statusOf[name]
  const body = { error: { ...errorBody(name, error).error, requestId: '…' } }
  return httpBlock(`HTTP/1.1 ${status} ${reasons[status]}`, headersOf[status] ?? {}, printJson(body))
}

const entry = (name: Code): string => {
  const { more, fix } = advice[name]
  const meaning = `**${statusOf[name]}** ${meanings[name]}${more === undefined ? '' : ` ${more}`}`
  return [`### ${code(name)}`, meaning, `Fix: ${fix}`, ownExample(name) ?? sharedExample(name)].join('\n\n')
}

const introduction = `# Errors

<!-- This page is generated: change the descriptions in packages/server/src/openapi/errors.ts, then run "npm run docs". -->

Every error response has one shape, described in [http-api.md](http-api.md#requests-and-answers). Programs decide by \`code\`;
\`message\` and \`hint\` are for people. \`field\` names the wrong field, if there is one.

May you retry the request?

| response | was it applied? | retry? |
|---|---|---|
| any 4xx | no | it fails again until you change the request |
| 500 \`outcome_unknown\`, \`internal\` | perhaps | read the record first |
| 500 \`store_damaged\` | no | no. If the message names a record: put or delete it. Otherwise the operator has to restore a backup |
| 503 \`unavailable\` | no | yes, after the seconds in \`Retry-After\` |
| 507 \`storage_full\` | no | yes, once the disk has room |

Tests compare each example with what a real server answers. As in [http-api.md](http-api.md), the requests are shown without the
secret key and \`Content-Type\`. An example without a request is the same for many routes.`

export const errorsPage = (): string => {
  const codes = Map.groupBy(errorCodes as readonly Code[], (name) => statusOf[name])
  const chapters = [...codes]
    .toSorted(([a], [b]) => a - b)
    .map(([status, names]) => [`## ${status} ${reasons[status]}`, ...names.map(entry)].join('\n\n'))
  return `${[introduction, ...chapters].join('\n\n')}\n`
}
