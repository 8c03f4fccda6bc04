import type { Tasks } from '../../../store/tasks.ts'
import type { OpenStore } from '../open-store.ts'
import { named, tableReads } from '../registry/tables.ts'
import { countRuns, oldestRunAt, type TaskRow, taskById, toTask } from './task-rows.ts'

export const sqliteTasks = (store: OpenStore): Tasks => ({
  ...tableReads(store, 'task'),

  read: (tasks, nowMs, countedMax) =>
    store.readAnew(() =>
      tasks.map(({ id }) => {
        const row = store.db.one<TaskRow>(taskById, id)
        if (row === undefined) return undefined
        const { declaration, updatedAtMs, nextRunAtMs } = toTask(row)
        const keptAfterMs = nowMs - 1000 * declaration.keepSeconds
        const counts = countedMax === undefined ? undefined : countRuns(store.db, id, keptAfterMs, countedMax)
        return { declaration, updatedAtMs, nextRunAtMs, oldestRunAtMs: oldestRunAt(store.db, id, nowMs), counts }
      }),
    ),

  declare(caller, db, name, declaration, condition, nowMs) {
    const task = named(store, 'task', caller, db, name, nowMs)
    const bytes = declaration.schedule?.payload.length ?? 0
    return store.channel.submit({ kind: 'declareTask', ...task, declaration, condition }, bytes)
  },

  addSecret(caller, task, secret, revokesOld, nowMs) {
    const fence = store.fence(caller, task)
    return store.channel.submit({ kind: 'addTaskSecret', fence, secret, revokesOld, nowMs })
  },

  delete: (caller, db, name, condition, nowMs) =>
    store.channel.submit({ kind: 'deleteTask', ...named(store, 'task', caller, db, name, nowMs), condition }),

  restore: (caller, db, name, deletedAtMs, nowMs) =>
    store.channel.submit({ kind: 'restoreTask', ...named(store, 'task', caller, db, name, nowMs), deletedAtMs }),
})
