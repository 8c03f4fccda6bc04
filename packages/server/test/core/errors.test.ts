import { describe, expect, test } from 'bun:test'
import { errorCodes } from '../../src/core/error-codes.ts'
import { CubbyError } from '../../src/core/errors.ts'

describe('error codes', () => {
  test('are those of the contract', () => {
    const contract = `
      invalid_json invalid_request invalid_name reserved_name invalid_key invalid_index invalid_index_value
      index_not_declared invalid_range invalid_cursor invalid_ttl batch_too_large batch_duplicate_keys
      missing_api_key invalid_api_key expired_api_key
      revoked_api_key read_only_key key_scope secret_key_in_browser
      route_not_found table_not_found record_not_found key_not_found
      method_not_allowed table_exists precondition_failed record_too_large body_too_large unsupported_media_type
      internal store_damaged outcome_unknown unavailable storage_full
      digest_mismatch private_file invalid_signature expired_url bucket_not_found file_not_found bucket_exists
      file_too_large range_not_satisfiable
      invalid_schedule push_target_refused task_not_found run_not_found task_exists too_many_tasks run_exists run_finished lease_lost
      not_a_number not_an_array key_not_active idempotency_key_reused changes_not_kept cursor_expired
      invalid_grant invalid_token expired_token revoked_token not_granted issuer_not_found`
    expect([...errorCodes].sort()).toEqual(contract.trim().split(/\s+/).sort() as (typeof errorCodes)[number][])
  })
})

describe('an error', () => {
  test('carries code and message, field and hint where there are any', () => {
    const error = new CubbyError('invalid_key', 'hashKey is empty.', { field: 'hashKey', hint: 'Give one.' })
    expect(error).toBeInstanceOf(Error)
    expect([error.name, error.code, error.message, error.field, error.hint]).toEqual([
      'CubbyError',
      'invalid_key',
      'hashKey is empty.',
      'hashKey',
      'Give one.',
    ])
    const bare = new CubbyError('internal', 'Oh.')
    expect([bare.field, bare.hint]).toEqual([undefined, undefined])
  })

  test('seen from one level further out, names the operation and keeps everything else', () => {
    const error = new CubbyError('invalid_index_value', 'data.status is null.', {
      field: 'data.status',
      hint: 'Mend it.',
    })
    const outer = error.within('operations[3]')
    expect([outer.code, outer.message, outer.field, outer.hint]).toEqual([
      'invalid_index_value',
      'data.status is null.',
      'operations[3].data.status',
      'Mend it.',
    ])
    expect(error.field).toBe('data.status')
  })

  test('without a field of its own becomes the fault of the whole operation', () => {
    expect(new CubbyError('precondition_failed', 'No.').within('operations[3]').field).toBe('operations[3]')
  })
})
