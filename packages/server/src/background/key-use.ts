import { lastUsedEntriesMax } from '../core/limits.ts'
import type { Log } from '../core/log.ts'
import type { ApiKeys } from '../store/api-keys.ts'

export interface KeyUseLog {
  /** Every request calls it, so it only remembers the use. */
  note(keyId: string, atMs: number): void
  stop(): Promise<void>
}

const usesPerWrite = 500

/** Writes `lastUsedAt` in the background, for all keys used since the last write. */
export const startKeyUse = (apiKeys: ApiKeys, log: Log, everyMs: number): KeyUseLog => {
  let noted = new Map<string, number>()

  const flush = async (): Promise<void> => {
    const uses = [...noted].map(([id, atMs]) => ({ id, atMs }))
    noted = new Map()
    try {
      for (let i = 0; i < uses.length; i += usesPerWrite) await apiKeys.noteUse(uses.slice(i, i + usesPerWrite))
    } catch (error) {
      log('warn', 'lastUsedAt could not be written', { cause: String(error) })
    }
  }

  const timer = setInterval(flush, everyMs)
  timer.unref()
  return {
    note(keyId, atMs) {
      if (noted.size < lastUsedEntriesMax || noted.has(keyId)) noted.set(keyId, atMs)
    },
    async stop() {
      clearInterval(timer)
      await flush()
    },
  }
}
