import type { Allow } from './allow.ts'
import { type Resolve, resolveName } from './resolve.ts'

/**
 * For a declaration: throws `push_target_refused` with the field `url` if the target must not be pushed to. A name that does
 * not resolve is accepted; each attempt checks again.
 */
export const checkTarget = async (_url: string, _allow: Allow, _resolve: Resolve = resolveName): Promise<void> => {
  throw new Error('not here yet')
}
