import { OperatorError } from './operator-error.ts'

/** The store cannot be opened, and that is not a bug. */
export class StoreRefused extends OperatorError {
  override readonly name: string = 'StoreRefused'
}

/** The store's URL is malformed: a mistake in the call, not a problem of the store. */
export class StoreUrlRefused extends StoreRefused {
  override readonly name = 'StoreUrlRefused'
}

/** The store's file is so damaged that it cannot be opened. */
export class StoreDamaged extends StoreRefused {}
