import { refuseUnknownMembers } from '../members.ts'
import { parseKeyPart } from '../records/record-key.ts'
import { readScalar } from '../scalar.ts'
import { delaySecondsRule, parseRunAt } from './parse-numbers.ts'
import type { NewRun } from './run.ts'
import { parseObjectText, type RunBody, refuseTogether } from './run-body.ts'
import { newRunId, parseRunId } from './run-id.ts'

const runFields = ['payload', 'id', 'key', 'runAt', 'delaySeconds'] as const

/** A run to add. `prefix` is `operations[3].` inside a batch, where there are other members too. */
export const parseNewRun = (body: RunBody, prefix = '', alsoKnown: readonly string[] = []): NewRun => {
  const { members } = body
  refuseUnknownMembers(members, [...alsoKnown, ...runFields], prefix)
  const { id, key, runAt, delaySeconds } = members
  const payload = parseObjectText(body, 'payload', prefix) ?? '{}'
  const isNamed = id !== undefined
  const named = isNamed ? parseRunId(id, `${prefix}id`) : newRunId()
  const parsedKey = key === undefined ? null : parseKeyPart(key, `${prefix}key`)
  refuseTogether(members, 'id', 'key', prefix, 'Give id to repeat a call safely, or key to bring one thing up to date.')
  const runAtMs = parseRunAt(runAt, `${prefix}runAt`)
  const delay = readScalar(delaySecondsRule, delaySeconds, `${prefix}delaySeconds`)
  refuseTogether(members, 'runAt', 'delaySeconds', prefix, 'Give the time or the delay.')
  const at = runAtMs === undefined ? { delayMs: (delay ?? 0) * 1000 } : { runAtMs }
  const option = runFields.find((name) => name !== 'payload' && members[name] !== undefined)
  return { id: named, isNamed, key: parsedKey, payload, at, option }
}
