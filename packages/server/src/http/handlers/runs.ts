import { type Awaitable, andThen } from '../../core/awaitable.ts'
import { batchBodyBytesMax, bodyBytesMax, plainBodyBytesMax } from '../../core/limits.ts'
import { refuseUnknownMembers } from '../../core/members.ts'
import { parseExtension } from '../../core/tasks/parse-extend.ts'
import { parseFinish } from '../../core/tasks/parse-finish.ts'
import { parseWaitSeconds } from '../../core/tasks/parse-numbers.ts'
import { parseNewRun } from '../../core/tasks/parse-run.ts'
import { readRunBody } from '../../core/tasks/run-body.ts'
import { parseRunQuery } from '../../core/tasks/run-query.ts'
import { applyTaskBatch, parseTaskBatchInSteps } from '../../operations/runs/apply-task-batch.ts'
import { cancelRun, retryRun } from '../../operations/runs/change-runs.ts'
import { claimedJson, claimRuns, parseClaim } from '../../operations/runs/claim-runs.ts'
import { extendedJson, extendRun } from '../../operations/runs/extend-run.ts'
import { finishRun } from '../../operations/runs/finish-run.ts'
import { getRun } from '../../operations/runs/get-run.ts'
import { presentRun, runJson } from '../../operations/runs/present-run.ts'
import { queryRuns, runPageJson } from '../../operations/runs/query-runs.ts'
import { parseRunAddress, type RunAddress, type RunOutput } from '../../operations/runs/run-access.ts'
import { runTask } from '../../operations/runs/run-task.ts'
import { parseTaskAddress, type TaskAddress } from '../../operations/tasks/task-access.ts'
import { matchesIfNoneMatch, refuseIfMatchOnRead } from '../conditions.ts'
import type { Exchange } from '../exchange.ts'
import { parseIntegerParameter, parseParameters } from '../query-parameters.ts'
import { respondLongText, respondNotModified, respondText, respondVersion } from '../respond.ts'
import { readMembers, refuseExtras } from './gather.ts'

const taskOf = ({ params }: Exchange): TaskAddress => parseTaskAddress(params.db, params.task)

/** A malformed id is that of no run, so nothing is refused here. */
const runOf = ({ params }: Exchange): RunAddress => parseRunAddress(params.db, params.task, params.run)

const respondRun = (exchange: Exchange, { run, task }: RunOutput, status = 200): Response =>
  respondLongText(exchange, runJson(run, task), status)

/** Cancel and retry take nothing but the address. */
const change = async (exchange: Exchange, apply: typeof cancelRun): Promise<Response> => {
  const address = runOf(exchange)
  refuseUnknownMembers(await readMembers(exchange, true), [])
  refuseExtras(exchange)
  return respondRun(exchange, await apply(exchange.access, address, exchange.nowMs))
}

export const runHandlers = {
  async runTask(exchange: Exchange): Promise<Response> {
    const address = taskOf(exchange)
    const newRun = parseNewRun(readRunBody(await exchange.readBody(bodyBytesMax), true))
    refuseExtras(exchange)
    const { created, ...output } = await runTask(exchange.access, { ...address, newRun }, exchange.nowMs)
    return respondRun(exchange, output, created ? 201 : 200)
  },

  getRun(exchange: Exchange): Awaitable<Response> {
    const address = runOf(exchange)
    const { headers, url } = exchange.request
    const waitSeconds = parseWaitSeconds(parseIntegerParameter(parseParameters(url, ['waitSeconds']).waitSeconds))
    refuseIfMatchOnRead(headers)
    const input = { ...address, waitSeconds }
    return andThen(getRun(exchange.access, input, exchange.nowMs, exchange), (run) =>
      matchesIfNoneMatch(headers, run.updatedAtMs)
        ? respondNotModified(exchange.requestId, run.updatedAtMs)
        : respondVersion(exchange, presentRun(exchange.access, address.task)(run), run.updatedAtMs),
    )
  },

  async queryRuns(exchange: Exchange): Promise<Response> {
    const address = taskOf(exchange)
    const query = parseRunQuery(await readMembers(exchange, true))
    refuseExtras(exchange)
    return respondLongText(
      exchange,
      runPageJson(await queryRuns(exchange.access, { ...address, query }, exchange.nowMs)),
    )
  },

  async claimRuns(exchange: Exchange): Promise<Response> {
    const address = taskOf(exchange)
    const claim = parseClaim(await readMembers(exchange, true))
    refuseExtras(exchange)
    const claimed = await claimRuns(exchange.access, { ...address, claim }, exchange.nowMs, exchange)
    return respondLongText(exchange, claimedJson(claimed))
  },

  async extendRun(exchange: Exchange): Promise<Response> {
    const address = runOf(exchange)
    const extension = parseExtension(readRunBody(await exchange.readBody(plainBodyBytesMax)))
    refuseExtras(exchange)
    const leaseUntilMs = await extendRun(exchange.access, { ...address, extension }, exchange.nowMs)
    return respondText(exchange.requestId, extendedJson(leaseUntilMs))
  },

  async finishRun(exchange: Exchange): Promise<Response> {
    const address = runOf(exchange)
    const finish = parseFinish(readRunBody(await exchange.readBody(bodyBytesMax)))
    refuseExtras(exchange)
    return respondRun(exchange, await finishRun(exchange.access, { ...address, finish }, exchange.nowMs))
  },

  cancelRun: (exchange: Exchange): Promise<Response> => change(exchange, cancelRun),

  retryRun: (exchange: Exchange): Promise<Response> => change(exchange, retryRun),

  async applyTaskBatch(exchange: Exchange): Promise<Response> {
    const address = taskOf(exchange)
    const text = await exchange.readBody(batchBodyBytesMax)
    const operations = await exchange.runSteps(parseTaskBatchInSteps(text, address.task))
    refuseExtras(exchange)
    const output = await applyTaskBatch(exchange.access, { ...address, operations }, exchange.nowMs)
    return respondText(exchange.requestId, JSON.stringify(output))
  },
}
