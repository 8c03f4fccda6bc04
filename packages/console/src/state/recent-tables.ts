import { hrefOf, type Route, routeOf } from '../router.ts'
import { preference, setPreference } from './preferences.ts'
import { session } from './session.ts'

// The tables that were used last in this browser, newest first: their addresses, for the first page.

const rememberedMax = 6

const nameOf = (): string => `tables.${session.value?.self.organization}`

export const recentTables = (): { db: string; table: string }[] => {
  const kept = preference<unknown>(nameOf(), [])
  if (!Array.isArray(kept)) return []
  return kept.map((hash) => routeOf(String(hash))).flatMap((at) => (at.screen === 'table' ? [at] : []))
}

export const rememberTable = (at: Route): void => {
  if (at.screen !== 'table' && at.screen !== 'record') return
  const { db, table } = at
  const others = recentTables().filter((other) => other.db !== db || other.table !== table)
  const all = [{ db, table }, ...others].slice(0, rememberedMax)
  setPreference(
    nameOf(),
    all.map((each) => hrefOf({ screen: 'table', ...each })),
  )
}
