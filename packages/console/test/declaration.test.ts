import { describe, expect, test } from 'bun:test'
import type { TaskRow } from '../src/api/types.ts'
import { declarationOf, emptyForm, formOf, formOfText } from '../src/screens/tasks/declaration.ts'

// A declaration is replaced as a whole. What the form does not carry over is lost when somebody edits or pauses a task.

const declared = {
  ...{ url: 'https://example.com/hook', authorization: '****', leaseSeconds: 60, attempts: 3, backoffSeconds: 7 },
  ...{ concurrency: 4, keepSeconds: 3600, paused: true },
  schedule: { cron: '0 6 * * *', timezone: 'Europe/Berlin', payload: '{"n": 1.0}' },
  on: { table: 'orders', ops: ['put', 'delete'] },
}
const stored = (more: object = {}): TaskRow => ({ ...declared, ...more }) as unknown as TaskRow
const body = (form: Parameters<typeof declarationOf>[0]) => JSON.parse(declarationOf(form))

describe('a declaration with on', () => {
  test('goes through the form and back as it was', () => {
    const { schedule, ...rest } = declared
    expect(body(formOf(stored()))).toEqual({ ...rest, schedule: { ...schedule, payload: { n: 1 } } })
    expect(declarationOf(formOf(stored()))).toContain('"payload": {"n": 1.0}')
  })

  test('and as a text, with each set of writes', () => {
    for (const ops of [['put'], ['expire', 'put'], ['put', 'delete', 'expire']]) {
      const text = declarationOf(formOf(stored({ on: { table: 'orders', ops } })))
      const found = formOfText(text)
      expect('form' in found && declarationOf(found.form)).toBe(text)
      expect(JSON.parse(text).on).toEqual({ table: 'orders', ops })
    }
    expect(formOfText('{"on":{"table":"orders"}}')).toEqual({ form: { ...emptyForm, on: 'orders' } })
  })

  test('paused, it follows the same', () => {
    for (const paused of [true, false]) {
      expect(body({ ...formOf(stored()), paused }).on).toEqual(declared.on)
    }
  })

  test('ends with an empty table, whatever the writes are', () => {
    expect(body({ ...formOf(stored()), on: ' ' })).not.toHaveProperty('on')
    for (const text of ['{}', '{"on":null}']) expect(formOfText(text)).toEqual({ form: emptyForm })
  })

  test('takes the words of the writes with commas, spaces or both', () => {
    for (const ops of ['put,delete', ' put  delete ', 'put, delete,', 'put,\n delete']) {
      expect(body({ ...emptyForm, on: 'orders', ops }).on).toEqual({ table: 'orders', ops: ['put', 'delete'] })
    }
    for (const ops of ['', ' , ']) expect(body({ ...emptyForm, on: ' orders ', ops }).on).toEqual({ table: 'orders' })
  })

  test('leaves it to the server to refuse what is wrong', () => {
    const on = { table: 'a"b', ops: ['patch', 'put"'] }
    expect(body(formOf(stored({ on }))).on).toEqual(on)
    const found = formOfText('{"on":{"table":"orders","ops":"patch"}}')
    expect('form' in found && body(found.form).on).toEqual({ table: 'orders', ops: ['patch'] })
  })

  test('as a text with a member that the form does not have is refused by its name', () => {
    const faults: [string, string][] = [
      ['{"on":{"table":"orders","op":"put"}}', 'op'],
      ['{"on":{"table":"orders"},"schedule":{"ever":1}}', 'ever'],
      ['{"follows":"orders"}', 'follows'],
    ]
    for (const [text, name] of faults) {
      expect(formOfText(text)).toEqual({ fault: `A declaration has no member "${name}". Remove it.` })
    }
  })
})
