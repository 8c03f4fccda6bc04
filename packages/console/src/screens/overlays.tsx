import type { Overlay } from '../state/overlay.ts'
import { Connect } from './connect.tsx'
import { CreateTable } from './create-table.tsx'
import { Jump } from './jump.tsx'
import { KeysHelp } from './keys-help.tsx'

/** The dialogs that can lie over every screen. */
export const Overlays = ({ of, onClose }: { of: Overlay; onClose: () => void }) => {
  switch (of.kind) {
    case 'jump':
      return <Jump onClose={onClose} />
    case 'keys':
      return <KeysHelp onClose={onClose} />
    case 'connect':
      return <Connect onClose={onClose} />
    case 'createTable':
      return <CreateTable db={of.db} table={of.table} onClose={onClose} />
  }
}
