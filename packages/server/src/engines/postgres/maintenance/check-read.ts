import type { Statement, Step, StepResult } from '../connection/driver.ts'

/** Reads of a check, on a connection of its own. */
export type Read = (...steps: Step[]) => Promise<StepResult[]>

export const step = (statement: Statement, ...values: Step['values']): Step => ({ statement, values })
