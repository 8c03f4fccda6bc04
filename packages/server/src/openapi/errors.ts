import type { ErrorCode } from '../core/errors.ts'
import { batchOperationsMax, dataBytesMax, fileBytesMax, findKeysMax, followersOfTableMax } from '../core/limits.ts'
import type { KeyNeeded } from '../operations/operation.ts'

/** The meaning of each code in one sentence. */
export const meanings: Record<ErrorCode, string> = {
  invalid_json: 'The body is not JSON in UTF-8.',
  invalid_request: 'A field, query parameter, header or body is unknown, sent twice, missing or of the wrong type.',
  invalid_name:
    'The name of a database, table, bucket or task does not match `[a-z0-9_-]{1,64}`, or a collection has more than one dot.',
  reserved_name: 'The name of a database, table, bucket or task starts with `_`.',
  invalid_key: 'A record key or id is missing, empty, too long or malformed, or it is exactly `.` or `..`.',
  invalid_index: 'The declaration of an index is malformed.',
  invalid_index_value:
    'An indexed field, or the hash of a query, is not a string, number or boolean that can be indexed.',
  index_not_declared: 'The table declares no such index.',
  invalid_range: 'The range is not one operator with a valid operand, or the index has no range field.',
  invalid_cursor: 'The cursor cannot be read or belongs to another request.',
  invalid_ttl: '`ttl` is not an integer of epoch seconds, or is more than a day in the past.',
  batch_too_large: `The batch has more than ${batchOperationsMax} operations, or the find more than ${findKeysMax} keys.`,
  batch_duplicate_keys: 'Two operations of a batch, or two keys of a find, name the same record.',
  digest_mismatch: 'The bytes of the upload do not match `Content-Digest`. Nothing was stored.',
  invalid_schedule: 'The schedule is malformed, or is never due.',
  push_target_refused: 'The `url` of the task is not `https`, or its host has an address that is not public.',
  invalid_grant: 'A grant of a user token is malformed, or the grants do not fit into a token.',
  missing_api_key: 'There is no `Authorization` header.',
  invalid_api_key: 'The API key is unknown or malformed.',
  expired_api_key: 'The API key has expired.',
  revoked_api_key: 'The API key has been revoked.',
  invalid_token:
    'The user token is malformed or was changed; or a login token was refused, for the reason in the message.',
  expired_token: 'The user token has expired, or the API key that it belongs to.',
  revoked_token: 'The tokens of this user were revoked, or the issuer that the token came from was changed.',
  not_granted: 'No grant of the user token allows this.',
  read_only_key: 'A public key only reads records, tables, runs and public files.',
  key_scope: 'The API key is limited to other databases, or it is limited and the request manages keys.',
  secret_key_in_browser: 'A web page from another origin sent a secret key.',
  private_file:
    'The file is private, and a public key reads only public files. At `/mcp?readOnly=true`: no URL is signed.',
  invalid_signature: 'The URL is not signed, or it was changed after it was signed.',
  expired_url: 'The signed URL has expired, or the API key that signed it.',
  route_not_found: 'No route has this path: a segment is empty, or there is a trailing slash.',
  table_not_found: 'There is no such table. The hint shows the call that creates or restores it.',
  record_not_found: 'There is no such record, or it has expired.',
  issuer_not_found: 'The organization has no issuer with that name.',
  key_not_found: 'The organization has no API key with that id.',
  bucket_not_found: 'There is no such bucket. The hint shows the call that creates or restores it.',
  file_not_found: 'There is no such file, or it has expired.',
  task_not_found: 'There is no such task. The hint shows the call that declares or restores it.',
  run_not_found: 'The task has no run with that id, or it is no longer kept.',
  method_not_allowed: 'The path exists, but does not support this method.',
  table_exists: 'A table with that name exists: it has other indices, or a restore needs its name.',
  bucket_exists: 'A bucket with that name exists, and a restore needs its name.',
  task_exists: 'A task with that name exists, and a restore needs its name.',
  too_many_tasks: `The table is followed by ${followersOfTableMax} tasks already. Nothing was changed.`,
  run_exists:
    'A run with that id has another payload; or a run cannot be retried, because it has not finished or another run of its key is queued.',
  run_finished: 'The run has finished and cannot be cancelled.',
  lease_lost: 'The lease has expired, or another attempt has taken over. Nothing was changed.',
  not_a_number:
    'A pointer of `increment` leads to no number and to no member that can be made, or a number has too many digits. Nothing was changed.',
  not_an_array: 'A pointer of `append` leads to no array and to no member that can be made. Nothing was changed.',
  idempotency_key_reused: 'Another request was applied under the same idempotency key. Nothing was changed.',
  key_not_active: 'The API key is revoked, has expired or was rolled before: it cannot be rolled.',
  changes_not_kept: 'The table keeps no changes.',
  cursor_expired: 'The changes after this cursor are no longer kept, or the store has gone back to a time before it.',
  precondition_failed: 'The condition does not hold; nothing was changed.',
  record_too_large: `\`data\`, or the \`payload\` or \`result\` of a run, has more than ${dataBytesMax.toLocaleString('en-US')} bytes of JSON.`,
  body_too_large: 'The body is larger than this request allows.',
  file_too_large: `The file has more than ${fileBytesMax.toLocaleString('en-US')} bytes, or more than its signed URL allows.`,
  unsupported_media_type: 'The body is not declared as JSON, or it is compressed.',
  range_not_satisfiable: 'The range lies outside the file. `Content-Range` has its size.',
  internal: 'The server failed; the request is not the cause.',
  store_damaged:
    'Part of the store on the disk is damaged, and this request needs it. Nothing was applied; the operator restores a backup.',
  outcome_unknown: 'The write may or may not have been applied: read before repeating it.',
  unavailable: 'The server cannot accept this request now. Nothing was applied: repeat it after `Retry-After`.',
  storage_full: 'The store has no free space. Nothing was applied.',
}

/** Says what to do about each code. `more` says more about when it occurs than its meaning does. */
export const advice: Record<ErrorCode, { fix: string; more?: string }> = {
  invalid_json: {
    more: 'It is malformed, not UTF-8, empty although the route needs one, or it has a byte order mark.',
    fix: 'Send one JSON value in UTF-8. In a shell, put single quotes around the body.',
  },
  invalid_request: {
    more: '`data` may also be no object or too deep, a condition may be malformed or have no meaning there, and a body may be sent where the route has none.',
    fix: '`field` says where the problem is, and `hint` says what is expected there.',
  },
  invalid_name: {
    more: 'A collection belongs to an [item](http-api.md#items).',
    fix: 'Use 1 to 64 lower-case letters, digits, `_` or `-`. Write a collection as `db.table`.',
  },
  reserved_name: { fix: 'Choose another name.' },
  invalid_key: {
    more: 'A key has at most 1,024 bytes and is well-formed Unicode. A percent-escape in a path that cannot be decoded has this code too. The `id` of a run is 1 to 128 characters of `A-Z`, `a-z`, `0-9`, `_` and `-`; its `key` follows the rule of a hash key.',
    fix: 'Send each key as a string of 1 to 1,024 bytes. In a path, percent-encode it once.',
  },
  invalid_index: {
    more: 'It has a name other than `i1` to `i5`, an unknown member, or a field name that is missing, empty or over 255 characters.',
    fix: 'Declare `{ "i1": { "hashField": "…", "rangeField": "…" } }`. `rangeField` is optional.',
  },
  invalid_index_value: {
    more: 'A string has at most 1,024 bytes, and a number must fit into a double.',
    fix: 'Store the value under another field, or leave the field out. Indices are sparse: a record without the field is stored and is not in the index.',
  },
  index_not_declared: {
    fix: 'Use an index from the hint. You cannot add indices later: create another table and [move the records](modelling.md#moving-to-a-new-index).',
  },
  invalid_range: {
    more: 'Operators may be unknown or not fit together, an operand may have the wrong type, and two bounds may be in the wrong order or have different types.',
    fix: 'Use one operator, or one of `gt` and `gte` together with one of `lt` and `lte`, the lower value in the first.',
  },
  invalid_cursor: {
    more: 'It belongs to another table, hash, index, range, direction or listing, or in a query of runs to another task or status. It also becomes invalid 7 days after the operator has [rotated the secret](recovering.md#rotating-the-secret) of the store that sealed it.',
    fix: 'Send the cursor with the same request that returned it, or leave it out to begin with the first page.',
  },
  invalid_ttl: {
    more: 'Most often it is in milliseconds, or it is a duration: `60` is a minute past midnight on 1 January 1970. The hint has the value that was probably meant.',
    fix: 'Send epoch seconds, for example `Math.floor(Date.now() / 1000) + 60` for a minute from now. Leave `ttl` out for a record that does not expire.',
  },
  batch_too_large: { fix: 'Send several requests. Each batch is atomic by itself.' },
  batch_duplicate_keys: {
    more: 'No `rangeKey` and `"#"` are the same. Two operations for the same run, or for the same `key` of one task, have this code too.',
    fix: 'Send the two operations in separate requests. In a find, name each record once.',
  },
  digest_mismatch: {
    fix: 'Send the file again, with the digest of its bytes. If the digest is right, something between you and the server changes bodies.',
  },
  invalid_schedule: {
    more: 'It has a `cron` pattern with other than five fields, a value out of range, an unknown `timezone`, or both `every` and `cron`.',
    fix: 'Write minute, hour, day of month, month and day of week. [Schedules](http-api.md#schedules) lists what a field may be.',
  },
  push_target_refused: {
    more: 'A `url` with a user or a password is refused too. The operator allows other addresses with `--push-allow`.',
    fix: 'Give a public `https` address. For a receiver in your own network ask the operator, or let a worker claim the runs: declare the task without `url`.',
  },
  invalid_grant: {
    more: '`field` names the wrong part: `grants[2].hash`. A token has at most 4,096 characters.',
    fix: 'Compare the grant with the [list of grants](http-api.md#user-tokens). What it names does not have to exist.',
  },
  missing_api_key: {
    fix: 'Send `Authorization: Bearer <API key>`. Other headers, such as `X-Api-Key`, and query parameters are not read.',
  },
  invalid_api_key: {
    more: 'The scheme may also be another one than `Bearer`, or the operator has deleted the organization. The checksum in a key detects typing errors.',
    fix: 'Compare the key with the one that you were given. The list of keys shows its last four characters. An operator can create another key: `cubby keys create`.',
  },
  expired_api_key: { fix: 'Create another key.' },
  revoked_api_key: { fix: 'Use another key; revocation is permanent.' },
  invalid_token: {
    more: 'A user token is also invalid while its organization is deleted, and after the secret that sealed it was [replaced](recovering.md#rotating-the-secret). Of a login token the signature, the issuer, the audience or a time may be wrong.',
    fix: 'Get another user token: from your server, or in exchange for a new login token.',
  },
  expired_token: { fix: 'Get another user token. The client does it by itself if `token` is a function.' },
  revoked_token: {
    more: 'A login token that was issued before the revocation is refused too.',
    fix: 'Log in again, and get another user token.',
  },
  not_granted: {
    more: 'Whether the thing exists makes no difference. A request that no grant can allow, such as a listing of tables, has this code too, and so has an API key at `GET /api/tokens/self`.',
    fix: 'Make the token with the grant that the hint names, if this person may do that; or send the request from your server, with a secret key.',
  },
  read_only_key: { fix: 'Send the request from your server, with a secret key.' },
  key_scope: { fix: 'Use a key whose `databases` include this one. To manage keys, use one without a limit.' },
  secret_key_in_browser: {
    fix: 'Use a public key in web pages. Revoke the secret key: visitors of the page may have seen it.',
  },
  private_file: {
    fix: 'Read the file on your server with a secret key, or make a [signed URL](http-api.md#urls-of-files) for the caller. If everybody may read it, make it public: `PATCH` with `{ "visibility": "public" }`.',
  },
  invalid_signature: {
    more: 'Its path, its method or a parameter differs, or one was added. A URL with more than 16 parameters cannot be a signed one, and none of them is read. The code also means that the end of the URL is more than 7 days and 5 minutes ahead, or that the secret that signed it was [rotated](recovering.md#rotating-the-secret) more than 7 days ago. Nothing is looked up for such a URL.',
    fix: 'Use the URL as it was given, with the method that it is for, and add nothing to it. Or ask for a new one where it came from.',
  },
  expired_url: { fix: 'Get a new URL, with a larger `expiresIn` if it must last longer: at most 7 days.' },
  route_not_found: {
    more: 'The path may also have a typo.',
    fix: 'Compare it with the [routes](http-api.md#routes). Percent-encode `/` inside a key as `%2F`.',
  },
  table_not_found: {
    more: 'A restore has this code if there is nothing to restore.',
    fix: 'Create the table, or restore it.',
  },
  record_not_found: {
    fix: 'If the record has a range key, add it to the path, for an item as `?rangeKey=`. To find all records of a hash key, use a query.',
  },
  issuer_not_found: { fix: 'Look the name up in the list of issuers.' },
  key_not_found: { fix: 'Take the `id` from `GET /api/keys`. The key itself is not its id.' },
  bucket_not_found: {
    more: 'A restore has this code if there is nothing to restore.',
    fix: 'Create the bucket, or restore it.',
  },
  file_not_found: {
    more: 'A URL below `/files` that leads to no public file has this code too.',
    fix: 'Check the name, upper and lower case too. The hint has the request that lists the files of the bucket.',
  },
  task_not_found: {
    more: 'A restore has this code if there is nothing to restore.',
    fix: 'Declare the task, or restore it.',
  },
  run_not_found: {
    more: 'A malformed id is that of no run.',
    fix: 'Look for the run with a query. Finished runs are kept for `keepSeconds` of their task.',
  },
  method_not_allowed: {
    more: 'The header `Allow` lists the methods that it has.',
    fix: 'Use a method from `Allow`. To write a record, use `PUT` or `PATCH /v1/:db/:table` with the key in the body.',
  },
  table_exists: {
    fix: 'Use the same indices, or another name. To restore, first delete the active table with that name.',
  },
  bucket_exists: {
    more: 'To create a bucket that exists is not an error.',
    fix: 'First delete the active bucket with that name. Then restore with the `deletedAt` of the hint.',
  },
  too_many_tasks: {
    more: 'The message names them. A restore of a task that follows the table is refused too.',
    fix: 'Let one task do the work of two, or end one of those that the message names.',
  },
  task_exists: { fix: 'First delete the active task with that name. Then restore with the `deletedAt` of the hint.' },
  run_exists: {
    fix: 'Use another id, or send the same payload to repeat the call. Retry a run when it has finished.',
  },
  run_finished: { fix: 'Nothing is left to do. A finished run is queued again by a retry.' },
  lease_lost: {
    more: 'The run may also have been cancelled. In a batch the code also means that the `finish` was applied before.',
    fix: 'Stop this attempt. Extend the lease of a long attempt before it ends.',
  },
  not_a_number: {
    more: 'A number, and the sum, has at most 40 significant digits and is 0 or from 1e-308 to below 1e309. In an array, a pointer needs the index of an element that is there. In a batch, none of the operations was applied.',
    fix: 'Compare the pointer in `field` with the `data` of the record. To begin with another value, set the member with `merge` in the same request: it comes first.',
  },
  not_an_array: {
    more: 'In an array, a pointer needs the index of an element that is there. In a batch, none of the operations was applied.',
    fix: 'Compare the pointer in `field` with the `data` of the record. To begin with an empty array, set the member with `merge` in the same request: it comes first.',
  },
  idempotency_key_reused: {
    more: 'A request is the same if its method, path, query string, `If-Match`, `If-None-Match` and the bytes of its body are.',
    fix: 'Send a new key with a new request. To repeat a request, send it unchanged.',
  },
  key_not_active: {
    more: 'Of several requests that roll one key at once, all but one get this code.',
    fix: 'Roll the key that the hint names: the old one was rolled into it. Otherwise create a key.',
  },
  changes_not_kept: {
    fix: 'Let the table keep its changes: the hint has the call, which needs a secret key.',
  },
  cursor_expired: {
    more: 'The table was created anew, its changes were ended, or a backup was restored.',
    fix: 'Begin again from the start: every record comes once, and then what has changed.',
  },
  precondition_failed: {
    more: 'Conditions are `If-Match`, `If-None-Match` and `ifUpdatedAt`. In a batch, none of the operations was applied.',
    fix: 'Read the record, apply your change to its current data, and write it with its new version.',
  },
  record_too_large: { fix: 'Split the record over several range keys, or keep the large part elsewhere.' },
  body_too_large: {
    fix: 'Send less at once. The [limits](http-api.md#limits) have the size for each kind of request.',
  },
  file_too_large: {
    more: 'If `Content-Length` says so, the response comes before the body.',
    fix: 'Split the file.',
  },
  unsupported_media_type: { fix: 'Send `Content-Type: application/json`. `curl -d` sends another one by default.' },
  range_not_satisfiable: {
    more: 'It begins behind the end, or the file is empty.',
    fix: 'Ask for a range within the file, or leave `Range` out.',
  },
  internal: {
    more: 'The server has a bug. It keeps running, and its log has the cause.',
    fix: 'Report it with the `requestId`. A write may or may not have been applied, as for `outcome_unknown`.',
  },
  store_damaged: {
    more: 'Other records, also in the same table, can still be read and written. If one record is not as it was written, the message names its keys, and a run is named by its id; `/readyz` stays 200. If a whole page of the database file is damaged, `/readyz` returns 503 from then on. For a file the code means that its bytes are missing, or are not those that were uploaded; its record and all other files are served. A changed file of more than 1 MiB does not get this code: its response has begun, so the connection is cut before the last bytes ([more](http-api.md#urls-of-files)).',
    fix: 'If a record is named, put it again or delete it, without a condition: that repairs it. Put a damaged file again, or restore its bytes from a backup. Otherwise the operator restores a backup: see [when the store is damaged](recovering.md#when-the-store-is-damaged). Do not retry the request before that. If the whole process ends with SIGBUS instead, start it with `--no-mmap`: then such requests get this code.',
  },
  outcome_unknown: {
    more: 'The commit failed half-way, or the writer thread or the connection to the database was lost during the commit. On Citus the coordinator may also have lost a worker during it.',
    fix: 'Read the record, then decide. You can always retry a write that names a version (`If-Match`, `ifUpdatedAt`): if it was applied, the retry returns 412.',
  },
  unavailable: {
    more: `It has one of these reasons:

- The write queue, the bodies in flight or the requests in flight are at their [limit](reference.md#bounds-of-a-process).
- The API key has too many large responses that are unread or being built, and the request waited 5 s for room, or could not wait.
- The body did not arrive in time.
- The server is stopping.
- The store's files were deleted or moved.
- The database of \`--store\` cannot be reached or is too slow.
- The request is \`GET /readyz\`, and the store cannot be read or damage was found in it.`,
    fix: 'Retry the request after the seconds in `Retry-After`, with a growing pause.',
  },
  storage_full: {
    more: 'Reads still work.',
    fix: 'Free disk space: see [when the disk is full](recovering.md#when-the-disk-is-full). Then writes work again without a restart.',
  },
}

/** The codes of authentication. They depend on what the key must allow and on whether the request names a database. */
export const accessCodes = (keyNeeded: KeyNeeded, namesDatabase: boolean): ErrorCode[] => [
  'missing_api_key',
  'invalid_api_key',
  'expired_api_key',
  'revoked_api_key',
  'invalid_token',
  'expired_token',
  'revoked_token',
  'not_granted',
  ...(keyNeeded === 'read' ? [] : (['read_only_key'] as const)),
  ...(namesDatabase || keyNeeded === 'manage-keys' ? (['key_scope'] as const) : []),
  'secret_key_in_browser',
]

export const bodyCodes: ErrorCode[] = ['invalid_json', 'body_too_large', 'unsupported_media_type']
