import { type Awaitable, andThen } from '../../core/awaitable.ts'
import { batchBodyBytesMax, plainBodyBytesMax } from '../../core/limits.ts'
import { readScalar } from '../../core/scalar.ts'
import { waitSecondsRule } from '../../core/tasks/parse-numbers.ts'
import { parseTaskAddress, type TaskAddress } from '../../operations/access.ts'
import { readJson } from '../../operations/parse-input.ts'
import { applyTaskBatch, parseTaskBatchInSlices } from '../../operations/runs/apply-task-batch.ts'
import { claimedJson, claimRuns, claimRunsOperation, parseClaim } from '../../operations/runs/claim-runs.ts'
import { getRun } from '../../operations/runs/get-run.ts'
import { presentRun } from '../../operations/runs/present-run.ts'
import type { RunAddress } from '../../operations/runs/run-access.ts'
import { matchesIfNoneMatch, refuseIfMatchOnRead } from '../conditions.ts'
import type { Exchange } from '../exchange.ts'
import { refuseExtras } from '../path-values.ts'
import { parseIntegerParameter, parseParameters } from '../query-parameters.ts'
import { respondLongText, respondNotModified, respondText, respondVersion } from '../respond.ts'

const taskOf = ({ params }: Exchange): TaskAddress => parseTaskAddress(params.db, params.task)

/** A malformed id is that of no run, so nothing is refused here. */
const runOf = (exchange: Exchange): RunAddress => ({ ...taskOf(exchange), run: exchange.params.run! })

export const runHandlers = {
  getRun(exchange: Exchange): Awaitable<Response> {
    const address = runOf(exchange)
    const { headers, url } = exchange.request
    const given = parseIntegerParameter(parseParameters(url, ['waitSeconds']).waitSeconds)
    const waitSeconds = readScalar(waitSecondsRule, given, 'waitSeconds') ?? 0
    refuseIfMatchOnRead(headers)
    const input = exchange.permit({ ...address, waitSeconds })
    return andThen(getRun(exchange.access, input, exchange.nowMs, exchange), (run) =>
      matchesIfNoneMatch(headers, run.updatedAtMs)
        ? respondNotModified(exchange.requestId, run.updatedAtMs)
        : respondVersion(exchange, presentRun(exchange.access, address.task)(run), run.updatedAtMs),
    )
  },

  async claimRuns(exchange: Exchange): Promise<Response> {
    const address = taskOf(exchange)
    const text = await exchange.readBody(plainBodyBytesMax)
    const claim = parseClaim(readJson(claimRunsOperation, text, true).members)
    refuseExtras(exchange)
    const input = exchange.permit({ ...address, claim })
    const claimed = await claimRuns(exchange.access, input, exchange.nowMs, exchange)
    return respondLongText(exchange, claimedJson(claimed))
  },

  async applyTaskBatch(exchange: Exchange): Promise<Response> {
    const address = taskOf(exchange)
    const text = await exchange.readBody(batchBodyBytesMax)
    const operations = await exchange.runSlices(parseTaskBatchInSlices(text, address.task))
    refuseExtras(exchange)
    const input = exchange.permit({ ...address, operations })
    const output = await applyTaskBatch(exchange.access, input, exchange.nowMs)
    return respondText(exchange.requestId, JSON.stringify(output))
  },
}
