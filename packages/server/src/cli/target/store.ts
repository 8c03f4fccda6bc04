import { shellWord } from '../../core/text/shell-word.ts'
import { findStore, readEngineSettings, type StoreLocation } from '../../engines/open-engine.ts'
import { testVariable } from '../../process/test-environment.ts'
import type { ClosedStore, OpenOptions } from '../../store/closed-store.ts'
import type { Engine } from '../../store/engine.ts'
import { type Arguments, type Flag, givenAs } from '../arguments.ts'

// Stores for commands that open the store itself. A server may be running on it.

export const storeFlags: Record<string, Flag> = {
  data: { type: 'string', value: 'DIR', help: 'the data directory of the embedded engine', default: './cubby-data' },
  store: { type: 'string', value: 'URL', help: 'another engine instead: postgres://user:password@host/db' },
}

/** `--data DIR` is that directory, even if CUBBY_STORE is set. */
export const storeLocation = (args: Arguments): StoreLocation => ({
  data: args.text('data')!,
  store: args.isGiven('data') && !args.isGiven('store') ? undefined : args.text('store'),
  storeGivenAs: givenAs(args, 'store'),
})

/**
 * The flags with which another command finds the same store, for a line to copy. What comes from the environment, or is the
 * default, needs no flag. A password is not repeated.
 */
export const sameStoreFlags = (args: Arguments): string => {
  if (args.isGiven('store')) return `--store ${shellWord(withoutPassword(args.text('store')!))}`
  return args.isGiven('data') ? `--data ${shellWord(args.text('data')!)}` : ''
}

const withoutPassword = (store: string): string => {
  const url = URL.parse(store)
  if (url === null) return 'URL'
  if (url.password !== '') url.password = 'PASSWORD'
  if (url.searchParams.has('password')) url.searchParams.set('password', 'PASSWORD')
  return url.href
}

export const findTargetStore = (args: Arguments): Promise<ClosedStore> => {
  const settings = readEngineSettings({ testVariable: (name) => testVariable(process.env, name) })
  return findStore(storeLocation(args), settings)
}

/** Opens the store as a guest, and closes it whatever happens. */
export const withStore = async <T>(
  args: Arguments,
  options: Pick<OpenOptions, 'mustExist' | 'requiresOwnSchema'>,
  use: (engine: Engine) => Promise<T>,
): Promise<T> => {
  const store = await findTargetStore(args)
  const engine = await store.open({ role: 'guest', ...options })
  try {
    return await use(engine)
  } finally {
    await engine.close()
  }
}
