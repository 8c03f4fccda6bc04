import {
  batchBodyBytesMax,
  bodyBytesMax,
  fileBytesMax,
  plainBodyBytesMax,
  requestHeadBytesMax,
  requestIdCharactersMax,
} from '../core/limits.ts'
import { binaryBytes } from '../operations/schema.ts'

/** The rules for all requests, to be read first. Only Markdown paragraphs, lists and headings (see `page/markdown.ts`). */
export const introduction = `Cubby stores JSON records in tables, and files in buckets, and sees that the runs of tasks are done. Tables, buckets and tasks belong to a database, and a database belongs to the organization of the API key.

## Requests

Bodies are JSON in UTF-8, at most ${binaryBytes(plainBodyBytesMax)} (a put, a patch, a find, a run, a finish or the declaration of a task: ${binaryBytes(bodyBytesMax)}, a batch: ${binaryBytes(batchBodyBytesMax)}); the body of an upload is the bytes of the file, at most ${binaryBytes(fileBytesMax)}. A body without a content type is read as JSON. Nothing is ignored: an unknown field or query parameter is rejected by name, and so is a condition on a request that does not support it.

Paths are matched exactly: an empty segment or a trailing slash is 404. Percent-encode each key in a path once. Some proxies decode \`%2F\`; if yours may do so, use \`find\` to read records whose keys contain \`/\`, and a batch to delete them.

\`ttl\` is in epoch seconds. Everything named \`…At\` or \`…Until\` is in epoch milliseconds.

## API keys

Send \`Authorization: Bearer <API key>\`. A secret key (\`svc_live_…\`) reads and writes and belongs on your server. A public key (\`svc_pub_…\`) reads records, tables, runs and public files and may be used in a web page. The key selects the organization. Data of another organization looks exactly like data that does not exist.

## Answers

Every request may have the header \`X-Request-Id\`, your own id for it. Every answer has one: yours, if it has 1 to ${requestIdCharactersMax} visible ASCII characters, otherwise a new one. The log and the body of an error contain it too. Clients may cache answers but must revalidate them (\`Cache-Control: private, no-cache\`).

Every path with GET also supports HEAD, which answers the same without the body. OPTIONS answers 204 on every path. Any other method on a known path is 405 with \`Allow\`.

Later versions may add fields and error codes; ignore those that you do not know. Under \`/v1\` nothing is removed or changes its meaning.

## Errors

All errors have one shape: \`error.code\`, \`message\` and \`requestId\`; \`field\` if one field is wrong; \`hint\` if there is a next step to suggest. Programs should decide by \`code\`; messages are for people and may change.

- A 4xx fails again until the request is changed. Only 431 has no body: the HTTP parser sends it if the request line and the headers are larger than ${binaryBytes(requestHeadBytesMax)} together.
- After 503 \`unavailable\` and 507 \`storage_full\` nothing was applied: the request may be repeated.
- After 500 \`store_damaged\` nothing was applied either; the request fails again until the operator has restored a backup.
- After 500 \`outcome_unknown\` the write may or may not have been applied: read the record first.

The server checks in this order: route and method, key, kind of key, scope, names, content type, size, JSON, fields, table, index values, conditions.

## Versions of a record

\`updatedAt\` strictly increases with every write while the record exists: it is the record's version and, in quotes, its \`ETag\`. Send it back in \`If-Match\`, or as \`ifUpdatedAt\` in a batch, to write only if the record has not changed since; otherwise the answer is 412 \`precondition_failed\` and nothing was changed.

## Files and their URLs

A file is uploaded and read below its bucket, with an API key. It also has URLs that need no key, \`/files/{bucket id}/{name}\`: a public file has a permanent one, the \`url\` of its record; every other URL is signed and expires. \`POST /v1/{db}/_buckets/{bucket}/url\` makes them. GET and HEAD on a URL read the file, with \`Range\`, \`If-None-Match\` and \`If-Match\`; the \`ETag\` of the bytes is their SHA-256. PUT on a URL that was signed for an upload writes the file.

The answers have headers that keep browsers from running what was uploaded: pictures, audio, video, PDF and plain text are shown, everything else is saved. An SVG shows in \`<img>\`.

## Browsers

Pages from every origin may read every answer, including errors. A secret key sent by a page from another origin is rejected with 403 \`secret_key_in_browser\`.

## Examples

Each example starts with a database \`app\` that has a table \`orders\`. The table declares the index \`i1\` by \`status\` and \`placedAt\`. It holds the orders \`o-1\` and \`o-2\` of \`ada\` and a record \`draft\`. Parameters, body and answer with the same example name belong together.
`
