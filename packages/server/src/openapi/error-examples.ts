import type { ErrorCode } from '../core/errors.ts'
import { batchOperationsMax, bodyBytesMax, dataBytesMax, fileBytesMax } from '../core/limits.ts'

interface ErrorDescription {
  message: string
  field?: string
  hint?: string
}

/** The body of an error in an example. */
export const errorBody = (code: ErrorCode, { message, field, hint }: ErrorDescription) => ({
  error: { code, message, ...(field && { field }), ...(hint && { hint }), requestId: 'HJ4c9fQ2-1z' },
})

/** One example for each code that is the same for many requests. Other codes have their own examples. */
export const sharedErrors: Partial<Record<ErrorCode, ErrorDescription>> = {
  invalid_json: {
    message: "The body is not valid JSON: Expected '}'.",
    hint: 'Send one JSON value in UTF-8.',
  },
  invalid_request: {
    message: 'pretty is not a query parameter of this request.',
    field: 'pretty',
    hint: 'It takes none.',
  },
  invalid_name: {
    message: 'db is "Shop"; a name matches [a-z0-9_-]{1,64}.',
    field: 'db',
    hint: 'Use 1 to 64 lower-case letters, digits, "_" or "-", for example "shop".',
  },
  reserved_name: {
    message: 'db is "_shop"; names that start with "_" are reserved.',
    field: 'db',
    hint: 'Drop the leading "_": "shop".',
  },
  invalid_key: {
    message: 'hashKey has a percent-escape that is malformed or not UTF-8.',
    field: 'hashKey',
    hint: 'Percent-encode the UTF-8 bytes of the key once, as encodeURIComponent does.',
  },
  invalid_ttl: {
    message: 'ttl is 4102444800000; it takes epoch seconds, an integer from 0 to 253402300799.',
    field: 'ttl',
    hint: 'It looks like milliseconds; give seconds: 4102444800.',
  },
  invalid_cursor: {
    message: 'cursor cannot be read.',
    field: 'cursor',
    hint: 'Send the cursor of the previous answer with an otherwise identical request, or leave it out for the first page.',
  },
  not_a_number: {
    message: 'operations[0].increment["/status"] leads to "open"; it takes a number, or a member that is missing.',
    field: 'operations[0].increment["/status"]',
    hint: 'Set the place to a number first; merge does it in the same request.',
  },
  not_an_array: {
    message: 'operations[0].append["/status"] leads to "open"; it takes an array, or a member that is missing.',
    field: 'operations[0].append["/status"]',
    hint: 'Set the place to an array first; merge does it in the same request.',
  },
  idempotency_key_reused: {
    message: 'Another request was applied under this idempotency key; nothing was changed.',
    field: 'Idempotency-Key',
    hint: 'Send a new key with a new request. To repeat a request, send its method, path, conditions and body unchanged.',
  },
  invalid_grant: {
    message: 'grants is an array of 0; it takes 1 to 25 grants.',
    field: 'grants',
  },
  missing_api_key: {
    message: 'The request carries no API key.',
    hint: 'Send the header "Authorization: Bearer <API key>". The API is documented at /docs, for agents at /SKILL.md.',
  },
  invalid_api_key: {
    message: 'The API key is malformed.',
    hint: 'Send "Authorization: Bearer svc_live_…" or "svc_pub_…". The API is documented at /docs, for agents at /SKILL.md.',
  },
  expired_api_key: {
    message: 'The API key expired at 2026-01-05T10:00:00.000Z.',
    hint: 'Create another key: POST /api/keys. The API is documented at /docs, for agents at /SKILL.md.',
  },
  revoked_api_key: {
    message: 'The API key has been revoked.',
    hint: 'Use another key; revocation is permanent.',
  },
  invalid_token: {
    message: 'The user token is not one of this store, or its organization is deleted.',
    hint: 'Send a token as it was given; ask for a new one where this one came from. The API is documented at /docs, for agents at /SKILL.md.',
  },
  expired_token: {
    message: 'The user token has expired.',
    hint: 'Ask for a new one where this one came from. The API is documented at /docs, for agents at /SKILL.md.',
  },
  revoked_token: {
    message: 'The user token has been revoked, with all tokens of its user.',
    hint: 'Ask for a new one where this one came from.',
  },
  not_granted: {
    message: 'No grant of the user token allows this.',
    hint: 'It needs the grant {"db":"app","table":"orders","can":"read"}.',
  },
  read_only_key: {
    message: 'A public key reads records, tables, runs and public files; this request needs a secret key.',
    hint: 'Send it from your server with a secret key (svc_live_…).',
  },
  key_scope: {
    message: 'The API key is limited to other databases.',
    hint: 'It may use: blog.',
  },
  secret_key_in_browser: {
    message: 'A secret key was sent by a web page of another origin.',
    hint: 'Use a public key (svc_pub_…) in browsers, revoke this one, and keep secret keys on your server.',
  },
  route_not_found: {
    message: 'No route has this path.',
    hint: 'Without the slash at its end: /v1/app. The API is documented at /docs, for agents at /SKILL.md.',
  },
  table_not_found: {
    message: 'There is no table invoices in database app.',
    hint: 'Create it with the indices that it needs, which cannot be changed later: POST /v1/app/invoices',
  },
  bucket_not_found: {
    message: 'There is no bucket invoices in database app.',
    hint: 'Create it: POST /v1/app/_buckets/invoices',
  },
  task_not_found: {
    message: 'There is no task invoices in database app.',
    hint: 'Declare it: PUT /v1/app/_tasks/invoices',
  },
  run_not_found: {
    message: 'The task mail has no run "order-o-9".',
    hint: 'It may have been removed when its time to be kept was over. Look for runs: POST /v1/app/_tasks/mail/query',
  },
  run_exists: {
    message: 'The run "order-o-1" exists with another payload; nothing was changed.',
    field: 'operations[0].id',
    hint: 'Use another id, or send the same payload.',
  },
  lease_lost: {
    message: 'The lease is not that of the running attempt, or it has expired; nothing was changed.',
    field: 'operations[0].lease',
    hint: 'Stop this attempt: another one may have begun, or the run was cancelled. Extend the lease earlier next time.',
  },
  batch_duplicate_keys: {
    message: 'operations[1] names the same run as operations[0].',
    field: 'operations[1]',
    hint: 'Send the two operations in separate requests.',
  },
  private_file: {
    message: 'The file is private; a public key reads public files only.',
    hint: 'Read it on your server with a secret key (svc_live_…), or give the caller a signed URL.',
  },
  invalid_signature: {
    message: 'The signature is not valid for this request.',
    hint: 'Use the URL exactly as it was given, with its method, without changed or added parameters.',
  },
  expired_url: {
    message: 'The URL has expired.',
    hint: 'Ask for a new one where this one came from. New ones are made by POST /v1/:db/_buckets/:bucket/url.',
  },
  digest_mismatch: {
    message:
      'The bytes that arrived have the SHA-256 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824; Content-Digest declares 486ea46224d1bb4fb680f34f7c9ad96a8f24ec88be73ea8e5a6c65260e9cb8a7.',
    field: 'Content-Digest',
    hint: 'Nothing was stored. Send the file again with the digest of its bytes.',
  },
  file_too_large: {
    message: `The file is larger than ${fileBytesMax} bytes.`,
    hint: 'Split it into several files.',
  },
  method_not_allowed: {
    message: 'PATCH is not a method of this path.',
    hint: 'A part of a record is changed by PATCH /v1/app/orders with hashKey in the body. This path takes DELETE, GET, HEAD, OPTIONS.',
  },
  body_too_large: {
    message: `The body is larger than ${bodyBytesMax} bytes.`,
    hint: 'Send less at once: several records in several requests.',
  },
  record_too_large: {
    message: `data has ${dataBytesMax + 1} bytes of JSON; it takes at most ${dataBytesMax}.`,
    field: 'data',
    hint: 'Split the record over several range keys.',
  },
  batch_too_large: {
    message: `operations has ${batchOperationsMax + 1} operations; a batch takes at most ${batchOperationsMax}.`,
    field: 'operations',
    hint: `Send them in batches of ${batchOperationsMax}; each is atomic by itself.`,
  },
  unsupported_media_type: {
    message: 'The body is not declared as application/json.',
    hint: 'Send "Content-Type: application/json".',
  },
  internal: {
    message: 'The server failed to answer this request.',
    hint: 'This is a fault of the server; its log has the cause under this requestId.',
  },
  store_damaged: {
    message: 'The store is damaged where this request reads or writes; nothing was applied.',
    hint: 'The operator has to restore a backup; other records can still be read and written.',
  },
  outcome_unknown: {
    message: 'The commit failed; the write may or may not have been applied.',
    hint: 'Read the record before repeating the request.',
  },
  unavailable: {
    message: 'Too many requests of this caller are in flight; nothing was applied.',
    hint: 'Repeat the request after the time in Retry-After.',
  },
  storage_full: {
    message: 'The disk is full; nothing was applied.',
    hint: 'Reads still work. Repeat the request once there is room.',
  },
}
