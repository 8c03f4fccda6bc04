import { newPlaceMark } from '../../core/files/place-mark.ts'
import { type BlobPlace, PlaceRefused } from '../../store/blob-place.ts'
import type { Files } from '../../store/files.ts'

// A store and the place of its files have the same random mark, from the first upload on. A process that was given another
// place would answer that files are damaged, and write bytes where other processes do not find them.

export type StoredMark = Pick<Files, 'readMark' | 'writeMark'>

const advice = 'Give every process on a store the same --files; if it is right, check that its disk is mounted.'

/**
 * Whether the store and the place have the same mark. False: the store has none yet. The place may have one then: of a first
 * upload that was interrupted, which the next one takes over.
 */
export const checkMark = async (place: BlobPlace, stored: StoredMark): Promise<boolean> => {
  const inStore = await stored.readMark()
  if (inStore === undefined) return false
  const inPlace = await place.readMark()
  if (inPlace === inStore) return true
  const found =
    inPlace === undefined
      ? 'It has no mark, and the store has files: their bytes are elsewhere.'
      : 'It has the mark of another place.'
  throw new PlaceRefused(`${place.description} is not where the files of this store are. ${found} ${advice}`)
}

/** For the first upload: marks the place, and then the store. Of several processes at once, all end with the same mark. */
export const makeMark = async (place: BlobPlace, stored: StoredMark): Promise<void> => {
  const inPlace = await place.writeMark(newPlaceMark())
  if ((await stored.writeMark(inPlace)) === inPlace) return
  throw new PlaceRefused(
    `${place.description} is not where the files of this store are: another process uses another place. ${advice}`,
  )
}
