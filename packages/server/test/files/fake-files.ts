import { newStoreId } from '../../src/core/files/blob-store-mark.ts'
import type { Files } from '../../src/store/files.ts'

/** The rows of blobs and the mark of a store, without a store. */
export class FakeFiles
  implements Pick<Files, 'takeDue' | 'forget' | 'keepAlive' | 'storeId' | 'adoptBlobs' | 'readMark' | 'writeMark'>
{
  /** Blobs that are due, by when. Those that were taken stay until they are forgotten. */
  readonly due = new Map<string, number>()
  readonly alive: Array<{ ids: string[]; nowMs: number }> = []
  readonly id: string = newStoreId()
  mark: string | undefined
  adoptions = 0
  /** The next call of any method throws it. */
  failure: Error | undefined

  async takeDue(nowMs: number, rowsMax: number): Promise<string[]> {
    this.#fail()
    return [...this.due].flatMap(([id, dueMs]) => (dueMs <= nowMs ? [id] : [])).slice(0, rowsMax)
  }

  async forget(ids: string[]): Promise<void> {
    this.#fail()
    for (const id of ids) this.due.delete(id)
  }

  async keepAlive(ids: string[], nowMs: number): Promise<void> {
    this.alive.push({ ids, nowMs })
    this.#fail()
  }

  storeId(): string {
    return this.id
  }

  async adoptBlobs(): Promise<number> {
    this.#fail()
    this.adoptions++
    this.mark = undefined
    return 0
  }

  readMark(): string | undefined {
    this.#fail()
    return this.mark
  }

  async writeMark(mark: string): Promise<string> {
    this.#fail()
    this.mark ??= mark
    return this.mark
  }

  #fail(): void {
    const { failure } = this
    this.failure = undefined
    if (failure !== undefined) throw failure
  }
}
