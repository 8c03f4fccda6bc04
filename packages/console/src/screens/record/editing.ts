import { computed, signal } from '@preact/signals'
import { serverNowMs } from '../../api/clock.ts'
import { isUnknown } from '../../api/error.ts'
import type { RecordRow } from '../../api/types.ts'
import { hrefOf } from '../../router.ts'
import { type Draft, draftOf, dropDraft, keepDraft } from '../../state/drafts.ts'
import { normalKey, type RecordKey } from './record-key.ts'
import { deleteRecord, isConflict, putRecord, readRecord } from './record-requests.ts'
import { readTtl, showTtl } from './ttl.ts'

// The text that is being edited, what it began from, and what came of the last request. It knows no elements.

export type Wanted = 'save' | 'delete'

type Trouble =
  | { kind: 'error'; error: unknown }
  /** The request may have been applied. */
  | { kind: 'unknown'; wanted: Wanted; error: unknown }
  /** It was read again and is as before: the request was not applied. */
  | { kind: 'unchanged'; wanted: Wanted }
  /** Without `stored` the record does not exist any more. */
  | { kind: 'conflict'; wanted: Wanted; stored: RecordRow | undefined }

interface Base {
  text: string
  ttl: number | undefined
  /** undefined: there was no record. */
  version: number | undefined
}

export const newText = '{\n  \n}'

const baseOf = (row: RecordRow | undefined): Base =>
  row === undefined
    ? { text: newText, ttl: undefined, version: undefined }
    : { text: row.data, ttl: row.ttl, version: row.updatedAt }

export class Editing {
  readonly place: string
  readonly base
  readonly text
  /** As typed. */
  readonly ttl
  /** For a new record, as typed; an empty range key is none. */
  readonly hashKey
  readonly rangeKey
  /** A draft from before is shown. */
  readonly hasOldDraft
  /** The record has been written or deleted since the draft began. */
  readonly isStale
  readonly isBusy = signal(false)
  readonly trouble = signal<Trouble | undefined>(undefined)
  /** Counts the saves, to mark what has just changed. */
  readonly saves = signal(0)
  #stored: RecordRow | undefined
  #sent: { text: string; ttl: number | undefined; typedTtl: string } | undefined

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
    this.text = signal(draft?.text ?? this.base.value.text)
    this.ttl = signal(draft?.ttl ?? showTtl(this.base.value.ttl))
    this.hashKey = signal(draft?.hashKey ?? '')
    this.rangeKey = signal(draft?.rangeKey ?? '')
    this.hasOldDraft = signal(draft !== undefined)
    this.isStale = signal(isStale)
  }

  readonly isChanged = computed((): boolean => {
    const { text, ttl } = this.base.value
    if (this.isStale.value || this.text.value !== text || this.hashKey.value + this.rangeKey.value !== '') return true
    const typed = readTtl(this.ttl.value, serverNowMs())
    return typed.fault !== undefined || typed.seconds !== ttl
  })

  get ttlSeconds(): number | undefined {
    const ttl = readTtl(this.ttl.value, serverNowMs())
    return ttl.fault === undefined ? ttl.seconds : undefined
  }

  get keyToSave(): RecordKey {
    return this.key ?? normalKey({ hashKey: this.hashKey.value, rangeKey: this.rangeKey.value })
  }

  /** Each change is kept as a draft. */
  change(changes: { text?: string; ttl?: string; hashKey?: string; rangeKey?: string }): void {
    for (const [name, value] of Object.entries(changes)) this[name as 'text' | 'ttl'].value = value
    this.#keep()
  }

  #keep(): void {
    if (!this.isChanged.value) {
      dropDraft(this.place)
      return
    }
    const { text: base, version } = this.base.value
    const [text, ttl, hashKey, rangeKey] = [this.text, this.ttl, this.hashKey, this.rangeKey].map(({ value }) => value)
    keepDraft(this.place, { text: text!, base, version, hashKey, rangeKey, ttl })
  }

  /** Gives up what was typed. */
  take(stored: RecordRow | undefined = this.#stored): void {
    this.#stored = stored
    this.base.value = baseOf(stored)
    this.text.value = this.base.value.text
    this.ttl.value = showTtl(this.base.value.ttl)
    this.hashKey.value = ''
    this.rangeKey.value = ''
    this.#settle()
    dropDraft(this.place)
  }

  #settle(): void {
    this.trouble.value = undefined
    this.hasOldDraft.value = false
    this.isStale.value = false
  }

  /**
   * The row that is stored now; undefined if it was not saved: see `trouble`. `version` is the one to replace; undefined: only
   * if there is no such record.
   */
  save(version: number | undefined): Promise<RecordRow | undefined> {
    return this.#run('save', async () => {
      this.#sent = { text: this.text.value, ttl: this.ttlSeconds, typedTtl: this.ttl.value }
      const row = await putRecord(this.db, this.table, this.keyToSave, this.#sent.text, this.#sent.ttl, version)
      this.#saved(row)
      return row
    })
  }

  /** Whether it is gone. */
  async delete(version: number): Promise<boolean> {
    const isGone = await this.#run('delete', async () => {
      await deleteRecord(this.db, this.table, this.keyToSave, version)
      return true
    })
    if (isGone) this.#gone()
    return isGone === true
  }

  /** After a request whose outcome is unknown. Returns what `save` or `delete` would have. */
  readAgain(wanted: Wanted): Promise<RecordRow | 'deleted' | undefined> {
    return this.#run(wanted, async () => {
      const stored = await readRecord(this.db, this.table, this.keyToSave)
      if (stored?.updatedAt === this.base.value.version) this.trouble.value = { kind: 'unchanged', wanted }
      else if (wanted === 'delete' && stored === undefined) {
        this.#gone()
        return 'deleted'
      } else if (wanted === 'save' && stored?.data === this.#sent?.text.trim() && stored?.ttl === this.#sent?.ttl) {
        this.#saved(stored!)
        return stored
      } else this.trouble.value = { kind: 'conflict', wanted, stored }
    })
  }

  #gone(): void {
    this.take(undefined)
  }

  /** What was typed while the request ran stays, as a change to the new version. */
  #saved(row: RecordRow): void {
    const isSame = this.text.value === this.#sent?.text
    // By what was typed: "in 30 days" means another second now.
    const hasSameTtl = this.ttl.value === this.#sent?.typedTtl
    this.#stored = row
    this.base.value = baseOf(row)
    if (isSame) this.text.value = row.data
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

const baseOfDraft = ({ base, version }: Draft): Base => ({ text: base ?? newText, ttl: undefined, version })
