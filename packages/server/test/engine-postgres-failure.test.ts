import { describe, expect, test } from 'bun:test'
import { CubbyError } from '../src/core/errors.ts'
import { PipelineFailure } from '../src/engines/postgres/connection/driver.ts'
import { toCallersError } from '../src/engines/postgres/connection/failure.ts'

// A caller that is told "nothing was applied" repeats its write. Where that is not certain, the answer must be outcome_unknown.

const cases: [
  what: string,
  sqlState: string | undefined,
  sent: boolean,
  executed: boolean,
  commits: boolean,
  code: string,
][] = [
  ['the connection broke before anything was sent', undefined, false, false, true, 'unavailable'],
  ['it broke behind a write that commits', undefined, true, false, true, 'outcome_unknown'],
  ['it broke behind a read', undefined, true, false, false, 'unavailable'],
  ['the server shut down while it was executing', '57P01', true, false, true, 'unavailable'],
  ['the server shut down once all was executed', '57P01', true, true, true, 'outcome_unknown'],
  ['the server does not know whether it was completed', '40003', true, false, true, 'outcome_unknown'],
  ['a serialization failure', '40001', true, false, true, 'unavailable'],
  ['a deadlock', '40P01', true, false, true, 'unavailable'],
]

describe('the error of a failed statement', () => {
  for (const [what, sqlState, sent, executed, commits, code] of cases) {
    test(`${what}: ${code}`, () => {
      const error = toCallersError(new PipelineFailure(what, { sqlState, sent, executed }), commits)
      expect(error).toBeInstanceOf(CubbyError)
      expect((error as CubbyError).code).toBe(code as CubbyError['code'])
    })
  }
})
