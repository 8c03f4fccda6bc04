import { useComputed, useSignal } from '@preact/signals'
import { useEffect, useId } from 'preact/hooks'
import { hrefOf, navigate, type Route } from '../router.ts'
import { catalogue, contents, loadAllContents, unreadDatabases } from '../state/catalogue.ts'
import { canManageKeys, canWrite } from '../state/session.ts'
import { Dialog } from '../ui/dialog.tsx'
import { entriesOf, UnreadDatabases } from '../ui/rail.tsx'

// Ctrl+K: to any table, bucket, task or page, by a part of its name.

interface Place {
  /** The text that is compared with the typed one. */
  name: string
  kind: string
  to: Route
}

/** The dialog reads at most this number of databases when it opens. A button reads the others. */
const readMax = 30
const shownMax = 50

const pagesOf = (): Place[] => [
  { name: 'Overview', kind: 'page', to: { screen: 'home' } },
  ...(canWrite.value ? [{ name: 'Import', kind: 'page', to: { screen: 'import' } as Route }] : []),
  ...(canManageKeys.value ? [{ name: 'Keys', kind: 'page', to: { screen: 'keys' } as Route }] : []),
  { name: 'Request pad', kind: 'page', to: { screen: 'pad' } },
]

const placesOf = (db: string): Place[] => {
  const found = contents.value.get(db)
  const entries = found && !('error' in found) ? entriesOf(db, found) : []
  return [
    { name: db, kind: 'database', to: { screen: 'database', db } },
    ...entries.map(({ name, kind, to }) => ({ name: `${db} / ${name}`, kind, to })),
  ]
}

/** Names that begin with it, or have a part that does, come before those that have it elsewhere. */
const rankOf = (name: string, words: string[]): number => {
  const text = name.toLowerCase()
  if (!words.every((word) => text.includes(word))) return -1
  const last = text.slice(text.lastIndexOf('/') + 1).trim()
  return words.some((word) => last.startsWith(word)) ? 0 : words.some((word) => last.includes(word)) ? 1 : 2
}

export const Jump = ({ onClose }: { onClose: () => void }) => {
  const typed = useSignal('')
  const at = useSignal(0)
  const listId = useId()
  useEffect(() => {
    loadAllContents(unreadDatabases.value.slice(0, readMax))
  }, [])
  const found = useComputed(() => {
    const words = typed.value
      .toLowerCase()
      .split(/[\s/]+/)
      .filter(Boolean)
    const places = [...(catalogue.value?.databases ?? []).flatMap(placesOf), ...pagesOf()]
    return places
      .map((place) => ({ place, rank: rankOf(place.name, words) }))
      .filter(({ rank }) => rank >= 0)
      .sort((a, b) => a.rank - b.rank)
      .map(({ place }) => place)
  })
  const shown = found.value.slice(0, shownMax)
  const chosen = Math.min(at.value, shown.length - 1)
  useEffect(() => {
    document.getElementById(`${listId}-${chosen}`)?.scrollIntoView({ block: 'nearest' })
  }, [chosen])
  const go = (place: Place | undefined): void => {
    if (place === undefined) return
    onClose()
    navigate(place.to)
  }
  const onKey = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) at.value = Math.max(0, Math.min(shown.length - 1, chosen + step))
    else if (event.key === 'Enter') go(shown[chosen])
    else return
    event.preventDefault()
  }
  return (
    <Dialog title="Jump to" onClose={onClose}>
      <div class="stack">
        <input
          type="text"
          role="combobox"
          aria-label="A table, bucket, task or page"
          placeholder="A part of its name"
          aria-expanded={shown.length > 0}
          aria-controls={listId}
          aria-activedescendant={shown.length > 0 ? `${listId}-${chosen}` : undefined}
          aria-autocomplete="list"
          autocomplete="off"
          spellcheck={false}
          value={typed}
          onInput={(event) => {
            typed.value = event.currentTarget.value
            at.value = 0
          }}
          onKeyDown={onKey}
        />
        <div id={listId} class="jump-list" role="listbox" aria-label="Places">
          {shown.map((place, index) => (
            // biome-ignore lint/a11y/useFocusableInteractive lint/a11y/useKeyWithClickEvents: Enter in the input does the same
            <div
              key={hrefOf(place.to)}
              id={`${listId}-${index}`}
              role="option"
              aria-selected={index === chosen}
              onClick={() => go(place)}
            >
              <span class="rail-name">{place.name}</span> <small>{place.kind}</small>
            </div>
          ))}
        </div>
        {shown.length === 0 && <p class="muted">Nothing has this in its name.</p>}
        {found.value.length > shownMax && (
          <p class="muted">{(found.value.length - shownMax).toLocaleString('en')} more: type more of the name.</p>
        )}
        <UnreadDatabases class="muted" />
      </div>
    </Dialog>
  )
}
