/** A store that cannot be opened, by no fault of ours: its message is one line for the operator, without a password. */
export class StoreRefused extends Error {
  override readonly name = 'StoreRefused'
}
