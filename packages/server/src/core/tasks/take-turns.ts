/**
 * Those that wait, in turns of their holders: the first of every holder, then the second of every holder. Otherwise they keep
 * their order. So what one holder has waiting, however much, comes behind the first of every other one.
 */
export const takeTurns = <T>(waiting: readonly T[], holderOf: (one: T) => number): T[] => {
  const counts = new Map<number, number>()
  const placed = waiting.map((one) => {
    const holder = holderOf(one)
    const turn = counts.get(holder) ?? 0
    counts.set(holder, turn + 1)
    return { one, turn }
  })
  return placed.sort((a, b) => a.turn - b.turn).map(({ one }) => one)
}
