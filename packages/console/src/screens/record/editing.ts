import { computed, signal } from '@preact/signals'
import { serverNowMs } from '../../api/clock.ts'
import { isUnknown } from '../../api/error.ts'
import type { RecordRow } from '../../api/types.ts'
import { hrefOf } from '../../router.ts'
import { type Draft, draftOf, dropDraft, keepDraft, newText } from '../../state/drafts.ts'
import { formatJson } from '../../text/format.ts'
import { hasSameTokens, type Kept, keepLayout } from '../../text/keep-layout.ts'
import { normalKey, type RecordKey } from './record-key.ts'
import { deleteRecord, isConflict, putRecord, readRecord } from './record-requests.ts'
import { readTtl, showTtl } from './ttl.ts'

// The text that is being edited, what it began from, and what came of the last request. It knows no elements.

export type Wanted = 'save' | 'delete'

type Trouble =
  | { kind: 'error'; error: unknown }
  /** The request may have been applied. */
  | { kind: 'unknown'; wanted: Wanted; error: unknown }
  /** The record was read again and is as before: the request was not applied. */
  | { kind: 'unchanged'; wanted: Wanted }
  /** `stored` is undefined if the record does not exist any more. */
  | { kind: 'conflict'; wanted: Wanted; stored: RecordRow | undefined }

interface Base {
  /** The text as it is stored. */
  text: string
  /** The same, formatted. */
  shown: string
  ttl: number | undefined
  /** The version is undefined if there was no record. */
  version: number | undefined
}

const baseOf = (row: RecordRow | undefined): Base =>
  row === undefined
    ? { text: newText, shown: newText, ttl: undefined, version: undefined }
    : { text: row.data, shown: formatJson(row.data), ttl: row.ttl, version: row.updatedAt }

/** The members of a record after a conflict, by where they are from. */
interface Merged {
  taken: readonly string[]
  kept: readonly string[]
}

export class Editing {
  readonly place: string
  readonly base
  /** The text in the field, formatted at first. */
  readonly shown
  /** The reader wants the white space stored as it is shown. */
  readonly storesShown = signal(false)
  /** The ttl as it is typed. */
  readonly ttl
  /** The keys of a new record as typed. An empty range key is none. */
  readonly hashKey
  readonly rangeKey
  /** A draft from before is shown. */
  readonly hasOldDraft
  /** The record has been written or deleted since the draft began. */
  readonly isStale
  readonly isBusy = signal(false)
  readonly trouble = signal<Trouble | undefined>(undefined)
  /** The reader goes on from a version that somebody else has written. */
  readonly merged = signal<Merged | undefined>(undefined)
  /** Counts the saves, to mark what has just changed. */
  readonly saves = signal(0)
  #stored: RecordRow | undefined
  #sent: { text: string; shown: string; ttl: number | undefined; typedTtl: string } | undefined

  /** `key` is undefined for a new record. `stored` is undefined for one that is not there. */
  constructor(
    readonly db: string,
    readonly table: string,
    readonly key: RecordKey | undefined,
    stored: RecordRow | undefined,
  ) {
    this.place = hrefOf(key ? { screen: 'record', db, table, ...key } : { screen: 'newRecord', db, table })
    this.#stored = stored
    const draft = draftOf(this.place)
    const isStale = draft !== undefined && draft.version !== stored?.updatedAt
    this.base = signal<Base>(isStale ? baseOfDraft(draft) : baseOf(stored))
    this.shown = signal(draft?.text ?? this.base.value.shown)
    this.ttl = signal(draft?.ttl ?? showTtl(this.base.value.ttl))
    this.hashKey = signal(draft?.hashKey ?? '')
    this.rangeKey = signal(draft?.rangeKey ?? '')
    this.hasOldDraft = signal(draft !== undefined)
    this.isStale = signal(isStale)
  }

  /** The text to send: the stored one with the changes that the reader has made in the formatted one. */
  readonly #kept = computed((): Kept => {
    const { text, version } = this.base.value
    const shown = this.shown.value
    return version === undefined || this.storesShown.value ? { text: shown, taken: 'all' } : keepLayout(text, shown)
  })

  get text(): string {
    return this.#kept.value.text
  }

  /** Says how the white space will be stored, if that is not as it is shown. */
  get layoutWords(): string {
    const { text, shown, version } = this.base.value
    if (version === undefined || (text === shown && this.text === this.shown.value)) return ''
    if (!this.#isTextChanged.value) return 'Shown formatted'
    const { taken } = this.#kept.value
    if (taken === 'all') return 'Saving also stores the formatting'
    return taken === 'part' ? 'Saving stores what you added as it is shown' : 'White space stays as stored'
  }

  /** Looking and laying out are no change. */
  readonly #isTextChanged = computed((): boolean => {
    const { text, shown } = this.base.value
    if (this.storesShown.value) return this.shown.value !== text
    return this.shown.value !== shown && !hasSameTokens(this.shown.value, shown)
  })

  readonly isChanged = computed((): boolean => {
    if (this.isStale.value || this.#isTextChanged.value || this.hashKey.value + this.rangeKey.value !== '') return true
    const { ttl } = this.base.value
    const typed = readTtl(this.ttl.value, serverNowMs())
    return typed.fault !== undefined || typed.seconds !== ttl
  })

  /** The stored record in the version that the reader began from. */
  get seen(): RecordRow | undefined {
    const { text: data, ttl, version: updatedAt } = this.base.value
    return this.#stored && updatedAt !== undefined ? { ...this.#stored, data, ttl, updatedAt } : undefined
  }

  get ttlSeconds(): number | undefined {
    const ttl = readTtl(this.ttl.value, serverNowMs())
    return ttl.fault === undefined ? ttl.seconds : undefined
  }

  get keyToSave(): RecordKey {
    return this.key ?? normalKey({ hashKey: this.hashKey.value, rangeKey: this.rangeKey.value })
  }

  /** Each change is kept as a draft. */
  change(changes: { shown?: string; ttl?: string; hashKey?: string; rangeKey?: string }): void {
    for (const [name, value] of Object.entries(changes)) this[name as 'shown' | 'ttl'].value = value
    this.#keep()
  }

  #keep(): void {
    if (!this.isChanged.value) {
      dropDraft(this.place)
      return
    }
    const { text: base, version } = this.base.value
    const [text, ttl, hashKey, rangeKey] = [this.shown, this.ttl, this.hashKey, this.rangeKey].map(({ value }) => value)
    keepDraft(this.place, { text: text!, base, version, hashKey, rangeKey, ttl })
  }

  /** Gives up what was typed. */
  take(stored: RecordRow | undefined = this.#stored): void {
    this.#stored = stored
    this.base.value = baseOf(stored)
    this.shown.value = this.base.value.shown
    this.storesShown.value = false
    this.ttl.value = showTtl(this.base.value.ttl)
    this.hashKey.value = ''
    this.rangeKey.value = ''
    this.#settle()
    dropDraft(this.place)
  }

  /** Goes on from the version that is stored now: the next save replaces that one. */
  rebase(stored: RecordRow | undefined, shown: string, ttl: string, merged: Merged): void {
    this.#stored = stored
    this.base.value = baseOf(stored)
    this.shown.value = shown
    this.ttl.value = ttl
    this.#settle()
    this.merged.value = merged
    this.#keep()
  }

  #settle(): void {
    this.trouble.value = undefined
    this.merged.value = undefined
    this.hasOldDraft.value = false
    this.isStale.value = false
  }

  /**
   * Returns the row that is stored now; undefined if it was not saved, see `trouble`. `version` is the one to replace. It is
   * undefined if the record must not exist.
   */
  save(version: number | undefined): Promise<RecordRow | undefined> {
    return this.#run('save', async () => {
      this.#sent = { text: this.text, shown: this.shown.value, ttl: this.ttlSeconds, typedTtl: this.ttl.value }
      const row = await putRecord(this.db, this.table, this.keyToSave, this.#sent.text, this.#sent.ttl, version)
      this.#saved(row)
      return row
    })
  }

  /** Returns the record that was stored, if it is gone now. */
  async delete(stored: RecordRow): Promise<RecordRow | undefined> {
    const deleted = await this.#run('delete', async () => {
      await deleteRecord(this.db, this.table, this.keyToSave, stored.updatedAt)
      return stored
    })
    if (deleted !== undefined) this.#gone()
    return deleted
  }

  /** Reads the record after a request whose outcome is unknown. The result is that of `save` or `delete`. */
  readAgain(wanted: Wanted): Promise<RecordRow | { deleted: RecordRow | undefined } | undefined> {
    return this.#run(wanted, async () => {
      const stored = await readRecord(this.db, this.table, this.keyToSave)
      if (stored?.updatedAt === this.base.value.version) this.trouble.value = { kind: 'unchanged', wanted }
      else if (wanted === 'delete' && stored === undefined) {
        const deleted = this.seen
        this.#gone()
        return { deleted }
      } else if (wanted === 'save' && stored?.data === this.#sent?.text.trim() && stored?.ttl === this.#sent?.ttl) {
        this.#saved(stored!)
        return stored
      } else this.trouble.value = { kind: 'conflict', wanted, stored }
    })
  }

  #gone(): void {
    this.take(undefined)
  }

  /** Text that was typed while the request ran stays, as a change to the new version. */
  #saved(row: RecordRow): void {
    const isSame = this.shown.value === this.#sent?.shown
    // The typed texts are compared: "in 30 days" means another second now.
    const hasSameTtl = this.ttl.value === this.#sent?.typedTtl
    this.#stored = row
    this.base.value = baseOf(row)
    // Nothing moves in the field, though the stored text may be laid out in another way.
    if (isSame) this.storesShown.value = false
    if (hasSameTtl) this.ttl.value = showTtl(row.ttl)
    this.hashKey.value = ''
    this.rangeKey.value = ''
    this.#settle()
    this.saves.value++
    this.#keep()
  }

  async #run<T>(wanted: Wanted, request: () => Promise<T>): Promise<T | undefined> {
    if (this.isBusy.value) return undefined
    this.isBusy.value = true
    this.trouble.value = undefined
    try {
      return await request()
    } catch (error) {
      this.trouble.value = await this.#troubleOf(wanted, error)
      return undefined
    } finally {
      this.isBusy.value = false
    }
  }

  async #troubleOf(wanted: Wanted, error: unknown): Promise<Trouble> {
    if (isUnknown(error)) return { kind: 'unknown', wanted, error }
    if (!isConflict(error)) return { kind: 'error', error }
    try {
      return { kind: 'conflict', wanted, stored: await readRecord(this.db, this.table, this.keyToSave) }
    } catch (readError) {
      return { kind: 'error', error: readError }
    }
  }
}

const baseOfDraft = ({ base = newText, version }: Draft): Base => ({
  text: base,
  shown: version === undefined ? base : formatJson(base),
  ttl: undefined,
  version,
})
