import { bodyBytesMax } from '../../core/limits.ts'
import { parseDeclaration, readDeclaration } from '../../core/tasks/parse-declaration.ts'
import {
  createTaskSecret,
  createTaskSecretOperation,
  parseRevokeOld,
} from '../../operations/tasks/create-task-secret.ts'
import { declareTask, declareTaskOperation } from '../../operations/tasks/declare-task.ts'
import { deleteTask } from '../../operations/tasks/delete-task.ts'
import { describeTask } from '../../operations/tasks/describe-task.ts'
import { listTasks, listTasksOperation } from '../../operations/tasks/list-tasks.ts'
import { taskJson } from '../../operations/tasks/present-task.ts'
import { parseRestoreTask, restoreTask } from '../../operations/tasks/restore-task.ts'
import { refuseBody } from '../body.ts'
import { parseWriteCondition, refuseIfMatchOnRead } from '../conditions.ts'
import type { Exchange } from '../exchange.ts'
import { parseParameters } from '../query-parameters.ts'
import { respondLongText, respondText, respondVersion } from '../respond.ts'
import { readListOfDatabase, readMembers, refuseExtras, taskAddressOf } from './gather.ts'

export const taskHandlers = {
  async listTasks(exchange: Exchange): Promise<Response> {
    const page = await listTasks(exchange.access, readListOfDatabase(exchange), exchange.nowMs)
    return respondLongText(exchange, listTasksOperation.present(page, exchange.nowMs))
  },

  async declareTask(exchange: Exchange): Promise<Response> {
    const address = taskAddressOf(exchange)
    const { headers, url } = exchange.request
    const text = await exchange.readBody(bodyBytesMax)
    const declaration = parseDeclaration(readDeclaration(text), exchange.nowMs)
    parseParameters(url, [])
    const condition = parseWriteCondition(headers, 'PUT')
    const declared = await declareTask(exchange.access, { ...address, declaration, condition }, exchange.nowMs)
    const shown = declareTaskOperation.present(declared, exchange.nowMs)
    return respondVersion(exchange, shown, declared.state.updatedAtMs, declared.created ? 201 : 200)
  },

  /** Never 304: `oldestRunAt` and `nextRunAt` change without a new version. */
  async describeTask(exchange: Exchange): Promise<Response> {
    const address = taskAddressOf(exchange)
    parseParameters(exchange.request.url, [])
    refuseIfMatchOnRead(exchange.request.headers)
    const described = await describeTask(exchange.access, address, exchange.nowMs)
    return respondVersion(exchange, taskJson(described), described.state.updatedAtMs)
  },

  async deleteTask(exchange: Exchange): Promise<Response> {
    const address = taskAddressOf(exchange)
    const { headers, url } = exchange.request
    refuseBody(headers)
    parseParameters(url, [])
    const condition = parseWriteCondition(headers, 'DELETE')
    const deleted = await deleteTask(exchange.access, { ...address, condition }, exchange.nowMs)
    return respondLongText(exchange, taskJson(deleted))
  },

  async restoreTask(exchange: Exchange): Promise<Response> {
    const address = taskAddressOf(exchange)
    const deletedAtMs = parseRestoreTask(await readMembers(exchange, true))
    refuseExtras(exchange)
    const restored = await restoreTask(exchange.access, { ...address, deletedAtMs }, exchange.nowMs)
    return respondLongText(exchange, taskJson(restored))
  },

  async createTaskSecret(exchange: Exchange): Promise<Response> {
    const address = taskAddressOf(exchange)
    const revokesOld = parseRevokeOld(await readMembers(exchange, true))
    refuseExtras(exchange)
    const secret = await createTaskSecret(exchange.access, { ...address, revokesOld }, exchange.nowMs)
    return respondText(exchange.requestId, createTaskSecretOperation.present(secret, exchange.nowMs))
  },
}
