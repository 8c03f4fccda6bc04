import { OperatorError } from './operator-error.ts'

/** The store cannot be opened, and that is not a bug. */
export class StoreRefused extends OperatorError {
  override readonly name: string = 'StoreRefused'
}

/** The store's URL is malformed: a mistake in the call, not a problem of the store. */
export class StoreUrlRefused extends StoreRefused {
  override readonly name = 'StoreUrlRefused'
}

/** Versions 2 to 6 belong to development builds between the releases 0.1 (version 1) and 0.2 (version 7). */
export const refuseUnreleased = (version: number, what: string): void => {
  if (version < 2 || version > 6) return
  throw new StoreRefused(
    `${what} has version ${version}, which only development builds between 0.1 and 0.2 wrote, and this Cubby does not migrate it: export its data with the build that wrote it, and import it into a new store`,
  )
}

/** The store's file is so damaged that it cannot be opened. */
export class StoreDamaged extends StoreRefused {}
