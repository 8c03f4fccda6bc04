import type { GridRow } from '../rows.ts'

interface RowChanges {
  added: string[]
  /** Rows that were written, wherever they stand now. */
  changed: string[]
  removed: string[]
  /** The rows that stay have another order. */
  isReordered: boolean
}

export const rowChanges = (before: readonly GridRow[], after: readonly GridRow[]): RowChanges => {
  const [old, now] = [before, after].map((rows) => new Map(rows.map((row) => [row.id, row]))) as [
    Map<string, GridRow>,
    Map<string, GridRow>,
  ]
  const kept = before.filter(({ id }) => now.has(id))
  const keptNow = after.filter(({ id }) => old.has(id))
  return {
    added: after.flatMap(({ id }) => (old.has(id) ? [] : [id])),
    changed: keptNow.flatMap(({ id, record }) => (old.get(id)!.record.updatedAt === record.updatedAt ? [] : [id])),
    removed: before.flatMap(({ id }) => (now.has(id) ? [] : [id])),
    isReordered: kept.some(({ id }, at) => id !== keptNow[at]!.id),
  }
}

/** Rows would move, come or go. */
export const moves = ({ added, removed, isReordered }: RowChanges): boolean =>
  added.length > 0 || removed.length > 0 || isReordered

/** `2 new, 1 gone` */
export const changeWords = ({ added, removed, isReordered }: RowChanges): string => {
  const words = [
    ...(added.length > 0 ? [`${added.length} new`] : []),
    ...(removed.length > 0 ? [`${removed.length} gone`] : []),
  ]
  return words.length > 0 ? words.join(', ') : isReordered ? 'another order' : 'changes'
}
