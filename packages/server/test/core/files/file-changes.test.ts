import { describe, expect, test } from 'bun:test'
import {
  changeFile,
  deadUntilMs,
  type FoundFile,
  pendingUntilMs,
  putFile,
  removeFile,
} from '../../../src/core/files/file-changes.ts'
import { type FileContent, fileData } from '../../../src/core/files/file-record.ts'

const now = 1_700_000_000_000
const content: FileContent = {
  ...{ size: 1, contentType: 'a/b', visibility: 'private', sha256: '0', blob: 'new', metadata: '{"a":1}' },
}
const found = (own: Partial<FoundFile> = {}): FoundFile => ({
  ...{ updatedAtMs: now - 5, ttlSeconds: null, data: fileData({ ...content, blob: 'old' }), blob: 'old' },
  ...own,
})
const expired = found({ ttlSeconds: now / 1000 })
const file = { content, ttlSeconds: null, condition: undefined }

describe('a put', () => {
  test('replaces a live file with a higher version, even if the clock was set back; the old bytes are dead', () => {
    expect(putFile(found(), file, now)).toEqual({
      ...{ applied: true, put: { content, ttlSeconds: null, updatedAtMs: now }, deadBlob: 'old' },
    })
    expect(putFile(found({ updatedAtMs: now + 9 }), file, now)).toMatchObject({ put: { updatedAtMs: now + 10 } })
  })

  test('to its condition an expired file does not exist, and its bytes are dead too', () => {
    expect(putFile(expired, { ...file, condition: 'exists' }, now)).toEqual({ applied: false, current: undefined })
    expect(putFile(expired, { ...file, condition: 'absent' }, now)).toMatchObject({ applied: true, deadBlob: 'old' })
    expect(putFile(found(), { ...file, condition: 'absent' }, now)).toEqual({ applied: false, current: now - 5 })
  })
})

test('a change keeps what it does not name, and the bytes; it needs a live file', () => {
  expect(changeFile(found({ ttlSeconds: 9e9 }), { visibility: 'public' }, undefined, now)).toEqual({
    ...{ applied: true, deadBlob: undefined },
    put: { content: { ...content, blob: 'old', visibility: 'public' }, ttlSeconds: 9e9, updatedAtMs: now },
  })
  expect(changeFile(found({ ttlSeconds: 9e9 }), { ttlSeconds: null }, undefined, now)).toMatchObject({
    put: { ttlSeconds: null },
  })
  for (const one of [undefined, expired]) {
    expect(changeFile(one, { contentType: 'c/d' }, undefined, now)).toEqual({ applied: false, current: undefined })
  }
})

test('a removal leaves an expired file to the sweep; a damaged row goes, with its bytes', () => {
  expect(removeFile(found(), undefined, now)).toEqual({ applied: true, deleted: true, deadBlob: 'old' })
  expect(removeFile(expired, undefined, now)).toEqual({ applied: true, deleted: false, deadBlob: undefined })
  expect(removeFile(undefined, undefined, now)).toEqual({ applied: true, deleted: false, deadBlob: undefined })
  const damaged = { ...expired, isDamaged: true }
  expect(removeFile(damaged, undefined, now)).toEqual({ applied: true, deleted: true, deadBlob: 'old' })
  expect(removeFile(found(), { version: 1 }, now)).toEqual({ applied: false, current: now - 5 })
})

test('dead bytes are due an hour later, those of an upload a day after its last progress', () => {
  expect([deadUntilMs(now), pendingUntilMs(now)]).toEqual([now + 3_600_000, now + 86_400_000])
})
