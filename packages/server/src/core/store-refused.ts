/** The store cannot be opened, and it is not a bug. The message is one line for the operator and holds no password. */
export class StoreRefused extends Error {
  override readonly name: string = 'StoreRefused'
}

/** The URL of the store is invalid: a usage error. */
export class StoreUrlRefused extends StoreRefused {
  override readonly name = 'StoreUrlRefused'
}

/** The store's file is damaged and cannot be opened. */
export class StoreDamaged extends StoreRefused {}
