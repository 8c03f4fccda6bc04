import { call } from '../../core/hint.ts'
import { type ExampleCall, tableDeletedAt } from '../example.ts'

export const taskDeclaredAt = 1767225800000
export const inMail = { db: 'app', task: 'mail' }

/** The fields of a task that only declares what it must. */
export const defaults = {
  ...{ url: null, authorization: null, leaseSeconds: 30, attempts: 12, backoffSeconds: 5, concurrency: null },
  ...{ keepSeconds: 604800, paused: false, schedule: null, on: null, oldestRunAt: null, status: 'active' },
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

/** A table that so many tasks follow that no other can. */
export const payments = { db: 'app', table: 'payments' }
export const followPayments = (task: string): ExampleCall => ({
  operation: 'declareTask',
  input: { db: 'app', task, on: { table: 'payments' } },
})
export const fullPayments: ExampleCall[] = ['book', 'index', 'print', 'report', 'thank'].map(followPayments)
export const paymentsAreFull = {
  code: 'too_many_tasks',
  message: '5 tasks follow the table payments: book, index, print, report, thank; it takes no more.',
  field: 'on.table',
  hint: [
    'End one of them: declare it without on, or delete it (',
    call('deleteTask', { db: 'app', task: 'book' }),
    ').',
  ],
} as const

export const secret = 'whsec_Uyo2pM1YkTQx0ZbC7vRfHn4eWj9sLdGa3tKqXiB5rO8='
export const daily = { cron: '30 6 * * mon-fri', timezone: 'Europe/Berlin', payload: { kind: 'daily' } }
