import { type ExampleCall, tableDeletedAt } from '../example.ts'

export const taskDeclaredAt = 1767225800000
export const inMail = { db: 'app', task: 'mail' }

/** The fields of a task that only declares what it must. */
export const defaults = {
  ...{ url: null, authorization: null, leaseSeconds: 30, attempts: 12, backoffSeconds: 5, concurrency: null },
  ...{ keepSeconds: 604800, paused: false, schedule: null, oldestRunAt: null, status: 'active' },
}

export const declaredAt = (at: number) => ({ createdAt: at, updatedAt: at })

/** The task that the examples of runs use too: workers claim its runs. */
export const mail = { ...inMail, ...defaults, ...declaredAt(taskDeclaredAt) }

export const noRuns = { queued: 0, running: 0, succeeded: 0, failed: 0, cancelled: 0 }

export const deletedMail = {
  ...mail,
  status: 'deleted',
  deletedAt: tableDeletedAt,
  recoverableUntil: tableDeletedAt + 7 * 24 * 60 * 60 * 1000,
}

export const declareMail: ExampleCall = { operation: 'declareTask', input: inMail, output: mail }
export const deleteMail: ExampleCall = { operation: 'deleteTask', input: inMail, output: deletedMail }

export const secret = 'whsec_Uyo2pM1YkTQx0ZbC7vRfHn4eWj9sLdGa3tKqXiB5rO8='
export const daily = { cron: '30 6 * * mon-fri', timezone: 'Europe/Berlin', payload: { kind: 'daily' } }
