import { hrefOf } from '../router.ts'
import { contents } from '../state/catalogue.ts'
import { canWrite } from '../state/session.ts'

const tabs = [
  ['database', 'Tables', 'tables'],
  ['buckets', 'Buckets', 'buckets'],
  ['tasks', 'Tasks', 'tasks'],
] as const

/** The kinds of things in a database, each with its number. A public key does not count tasks. */
export const DatabaseTabs = ({ db, at }: { db: string; at: (typeof tabs)[number][0] }) => {
  const found = contents.value.get(db)
  const counts = found && !('error' in found) ? found : undefined
  return (
    <nav class="tabs" aria-label={`In ${db}`}>
      {tabs.map(([screen, label, kind]) => (
        <a key={screen} class="tab" href={hrefOf({ screen, db })} aria-current={screen === at ? 'page' : undefined}>
          {label}{' '}
          {counts && (kind !== 'tasks' || canWrite.value) && (
            <span class="tab-number">
              {counts[kind].length.toLocaleString('en')}
              {counts.isCut && counts[kind].length >= 1000 && '+'}
            </span>
          )}
        </a>
      ))}
    </nav>
  )
}
