import { CubbyError } from '../core/errors.ts'
import { divideCollection } from '../core/items/collection.ts'
import type { ApiKey } from '../store/api-keys.ts'
import type { KeyNeeded } from './operation.ts'

/**
 * Throws if the API key does not allow an operation: first by its kind, then by its databases. Every adapter calls this
 * before `run`, which does not check it. `db` is what `databaseOf` returns: an invalid name is in no key's scope.
 */
export const authorize = (apiKey: ApiKey, keyNeeded: KeyNeeded, db: unknown): void => {
  if (keyNeeded === 'operator') throw new Error('an adapter offered an operation of operators to an API key')
  if (apiKey.kind === 'public' && keyNeeded !== 'read') {
    throw new CubbyError(
      'read_only_key',
      'A public key reads records, tables, runs and public files; this request needs a secret key.',
      {
        hint: 'Send it from your server with a secret key (svc_live_…).',
      },
    )
  }
  if (apiKey.databases === null) return
  if (keyNeeded === 'manage-keys') {
    throw new CubbyError('key_scope', 'A key limited to databases cannot manage keys.', {
      hint: 'Use a secret key without a "databases" limit.',
    })
  }
  if (db !== undefined && !apiKey.databases.includes(db as string)) {
    throw new CubbyError('key_scope', 'The API key is limited to other databases.', {
      hint: `It may use: ${apiKey.databases.join(', ')}.`,
    })
  }
}

/** The database that an input names, as it was sent: by `db`, or as a part of `collection`. */
export const databaseOf = (input: { readonly db?: unknown; readonly collection?: unknown }): unknown => {
  if (input.db !== undefined) return input.db
  return typeof input.collection === 'string' ? divideCollection(input.collection).db : input.collection
}
