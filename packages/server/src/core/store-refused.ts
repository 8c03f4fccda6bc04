/** A store that cannot be opened, by no fault of ours: its message is one line for the operator, without a password. */
export class StoreRefused extends Error {
  override readonly name: string = 'StoreRefused'
}

/** The URL of the store cannot be meant, whatever stands there: a mistake in the call. */
export class StoreUrlRefused extends StoreRefused {
  override readonly name = 'StoreUrlRefused'
}

/** One whose file is damaged so that it cannot be opened. */
export class StoreDamaged extends StoreRefused {}
