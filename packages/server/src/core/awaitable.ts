/** The embedded engine returns reads synchronously, a remote engine returns a promise. */
export type Awaitable<T> = T | Promise<T>

/** Continues synchronously where it can: a promise around a value that is already there would cost more than the read. */
export const andThen = <T, R>(value: Awaitable<T>, use: (value: T) => Awaitable<R>): Awaitable<R> =>
  value instanceof Promise ? value.then(use) : use(value)

/** `run`, and `recover` for its error, thrown or rejected. */
export const orElse = <T>(run: () => Awaitable<T>, recover: (error: unknown) => Awaitable<T>): Awaitable<T> => {
  try {
    const value = run()
    return value instanceof Promise ? value.catch(recover) : value
  } catch (error) {
    return recover(error)
  }
}
