import { batchBodyBytesMax, bodyBytesMax, plainBodyBytesMax, requestIdCharactersMax } from '../core/limits.ts'

/** `64 KiB`, `12 MiB`. */
export const binaryBytes = (bytes: number): string =>
  bytes < 1_048_576 ? `${bytes / 1_024} KiB` : `${bytes / 1_048_576} MiB`

/** What holds for every request: the first thing to read. Paragraphs, lists and headings of Markdown, no more. */
export const introduction = `Cubby keeps JSON records in tables. A table belongs to a database, a database to the organization of the API key that asks.

## Requests

Bodies are JSON in UTF-8, at most ${binaryBytes(plainBodyBytesMax)} (a put: ${binaryBytes(bodyBytesMax)}, a batch: ${binaryBytes(batchBodyBytesMax)}). Without a content type a body is read as JSON. Nothing is ignored: a field or query parameter that a request does not know, and a condition where it means nothing, are refused by name.

Paths are matched as they were sent: an empty segment or a trailing slash is 404. Each key in a path is percent-encoded once. Proxies may decode \`%2F\` on the way; where you cannot rule that out, read keys that hold \`/\` by query and delete them by batch.

\`ttl\` is in epoch seconds. Everything named \`…At\`, and \`recoverableUntil\`, is in epoch milliseconds.

## API keys

Send \`Authorization: Bearer <API key>\`. A secret key (\`svc_live_…\`) reads and writes and belongs on your server. A public key (\`svc_pub_…\`) reads records and tables and may stand in a web page. The key names the organization; what another organization has answers exactly like what does not exist.

## Answers

Every answer carries \`X-Request-Id\`: yours, if you sent one of 1 to ${requestIdCharactersMax} visible ASCII characters, otherwise a new one. Answers may be kept and must be revalidated (\`Cache-Control: private, no-cache\`).

HEAD is as GET, without the body, wherever there is a GET. OPTIONS answers 204 on every path. Another method on a known path is 405 with \`Allow\`.

Fields and error codes may be added to answers at any time; ignore those that you do not know. Nothing is removed or changes its meaning under \`/v1\`.

## Errors

An error has one shape, whatever the status: \`error.code\`, \`message\` and \`requestId\`, always; \`field\` where one field is at fault; \`hint\` where there is a next step to suggest. Decide by \`code\`; messages are for people and may change.

- Everything in the 400s fails again until the request is changed.
- After 503 \`unavailable\` and 507 \`storage_full\` nothing was applied: the request may be repeated.
- After 500 \`store_damaged\` nothing was applied either, and it will fail again until the operator has restored a backup.
- After 500 \`outcome_unknown\` the write may or may not have been applied: read first.

Checks come in this order: route and method, key, kind of key, scope, names, content type, size, JSON, fields, table, index values, conditions.

## Versions of a record

\`updatedAt\` strictly increases with every write while the record exists: it is the record's version and, in quotes, its \`ETag\`. Send it back in \`If-Match\`, or as \`ifUpdatedAt\` in a batch, to write only if nobody else did meanwhile; otherwise the answer is 412 \`precondition_failed\` and nothing was changed.

## Browsers

Every answer, errors too, may be read by pages of every origin. A secret key sent by a page of another origin is refused with 403 \`secret_key_in_browser\`.

## Examples

Each example finds a database \`app\` with a table \`orders\`, which declares the index \`i1\` by \`status\` and \`placedAt\` and holds the orders \`o-1\` and \`o-2\` of \`ada\` and a record \`draft\`. Examples of one name belong together: parameters, body and answer.
`
