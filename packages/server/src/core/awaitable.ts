/** The embedded engine answers reads at once, a remote one later. */
export type Awaitable<T> = T | Promise<T>

/** Goes on at once where it can: a promise for what is there already would cost more than the read. */
export const andThen = <T, R>(value: Awaitable<T>, use: (value: T) => Awaitable<R>): Awaitable<R> =>
  value instanceof Promise ? value.then(use) : use(value)
