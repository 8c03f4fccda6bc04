import { encodeScanCursor } from '../../core/cursor.ts'
import { pageBytesMax } from '../../core/limits.ts'
import { countPageJson } from '../../core/records/record-json.ts'
import { isEmptyScan } from '../../core/records/scan.ts'
import type { Run } from '../../core/tasks/run.ts'
import { parseRunQuery, planRunQuery, type RunQuery, type RunQueryPlan } from '../../core/tasks/run-query.ts'
import type { RunPage } from '../../store/runs.ts'
import type { Table } from '../../store/tables.ts'
import type { Access, TaskAddress } from '../access.ts'
import { requireTask } from '../lifecycle.ts'
import { pagesNote } from '../listing.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { taskMembers, taskRequired } from '../tasks/schemas.ts'
import { declare, fail, failed, ofMail, toClaim, toFinish } from './examples.ts'
import { presentRun } from './present-run.ts'
import { runSchemas } from './schemas.ts'

interface QueryRunsInput extends TaskAddress {
  query: RunQuery
}

interface RunQueryPage {
  /** JSON texts. */
  items: string[]
  count: number
  cursor: string | null
}

/** The texts of the runs that fit into a page: at least one. The brackets and the commas count. */
const presentFitting = (runs: readonly Run[], present: (run: Run) => string): string[] => {
  const texts: string[] = []
  let bytes = 1
  for (const run of runs) {
    const text = present(run)
    bytes += Buffer.byteLength(text) + 1
    if (bytes > pageBytesMax && texts.length > 0) return texts
    texts.push(text)
  }
  return texts
}

/**
 * A page whose text is within the bound. The engine bounds what it reads, but not the text around it: if that is too much,
 * the page is read again with fewer rows, since only the engine knows the position of a row.
 */
const readPage = async (
  { engine }: Access,
  task: Table,
  { status, limit }: RunQuery,
  { page }: RunQueryPlan,
  nowMs: number,
  present: (run: Run) => string,
): Promise<{ items: string[]; next: RunPage['next'] }> => {
  for (let rows = limit; ; ) {
    const { runs, next } = await engine.runs.scan(task, status, page, rows, nowMs)
    const items = presentFitting(runs, present)
    if (items.length === runs.length) return { items, next }
    rows = items.length
  }
}

const queryRuns = async (
  access: Access,
  { query, ...address }: QueryRunsInput,
  nowMs: number,
): Promise<RunQueryPage> => {
  const { engine } = access
  const task = await requireTask(access, address, nowMs)
  const { seal } = await engine.secrets.at(nowMs)
  const plan = planRunQuery(query, task.id, seal)
  // `whole` is checked and not `page`: a descending scan that resumes among equal values has equal bounds, and an id that tells
  // them apart.
  if (isEmptyScan(plan.whole)) return { items: [], count: 0, cursor: null }
  const cursorAt = (next: RunPage['next']): string | null =>
    next === undefined ? null : encodeScanCursor(seal, task.id, plan.whole, next, plan.fingerprint)
  if (query.select === 'count') {
    const { count, next } = await engine.runs.count(task, query.status, plan.page, query.limit, nowMs)
    return { items: [], count, cursor: cursorAt(next as RunPage['next']) }
  }
  const { items, next } = await readPage(access, task, query, plan, nowMs, presentRun(access, address.task))
  return { items, count: items.length, cursor: cursorAt(next) }
}

const runPageJson = ({ items, count, cursor }: RunQueryPage): string =>
  items.length === 0
    ? countPageJson(count, cursor)
    : `{"items":[${items.join(',')}],"count":${count},"cursor":${JSON.stringify(cursor)}}`

export const queryRunsOperation = defineOperation({
  id: 'queryRuns',
  area: 'runs',
  summary: 'List the runs of a task by the time of their last change',
  keyNeeded: 'read',
  grants: 'none',
  effect: 'reads',
  route: { method: 'POST', path: '/v1/:db/_tasks/:task/query', body: { schema: 'RunQuery' } },
  command: 'tasks runs {task} --db {db}',
  read: ({ members }) => ({ query: parseRunQuery(members) }),
  run: queryRuns,
  present: runPageJson,
  describe: () => ({
    title: 'List runs',
    description: `Runs by \`updatedAt\`, newest first unless \`ascending\` is true; \`status\` and \`range\` select among them. ${pagesNote} A cursor is valid only with the same task, status, range and direction; \`limit\` and \`select\` may change.

With \`select: "count"\` there are no items, and \`count\` is the number of runs that matched. A public key reads the runs without \`payload\` and \`key\`.`,
    returns: 'A page of runs.',
    codes: ['invalid_range', 'invalid_cursor', 'task_not_found'],
    input: inputOf(runSchemas.RunQuery, taskMembers, taskRequired),
    output: ref('RunPage'),
    client: { on: 'task', method: 'query', result: 'page', counts: true },
    examples: [
      {
        name: 'failedOnes',
        summary: 'The runs that failed, newest first',
        given: [...toFinish, fail],
        input: { ...ofMail, status: 'failed' },
        output: { items: [failed], count: 1, cursor: null },
      },
      {
        name: 'count',
        summary: 'How many runs wait',
        given: toClaim,
        input: { ...ofMail, status: 'queued', select: 'count' },
        output: { items: [], count: 1, cursor: null },
      },
      {
        name: 'noSuchStatus',
        summary: 'A status that no run can have',
        given: [declare],
        input: { ...ofMail, status: 'done' },
        error: {
          code: 'invalid_request',
          message: 'status is "done"; it takes one of "queued", "running", "succeeded", "failed", "cancelled".',
          field: 'status',
          hint: 'Leave status out for all runs.',
        },
      },
      {
        name: 'wrongRange',
        summary: 'A range with an operator that does not exist',
        given: [declare],
        input: { ...ofMail, range: { since: 1767780000000 } },
        error: {
          code: 'invalid_range',
          message: 'range has the operator "since"; the operators are eq, lt, lte, gt, gte, between, beginsWith.',
          field: 'range',
          hint: 'For example { "gte": 10, "lt": 20 }.',
        },
      },
    ],
  }),
})
