import { loadAllContents, unreadDatabases } from '../state/catalogue.ts'

/** Below a filtered list: a filter finds only what was read. */
export const UnreadDatabases = ({ class: className }: { class: string }) => {
  const unread = unreadDatabases.value
  if (unread.length === 0) return null
  const count = unread.length === 1 ? '1 further database' : `${unread.length.toLocaleString('en')} further databases`
  return (
    <p class={className}>
      What is in {count} has not been read.{' '}
      <button type="button" class="link" onClick={() => loadAllContents(unread)}>
        Look into them
      </button>
    </p>
  )
}
