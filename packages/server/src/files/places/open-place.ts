import type { Log } from '../../core/log.ts'
import { type BlobPlace, PlaceUrlRefused } from '../../store/blob-place.ts'
import { DirectoryPlace } from './directory.ts'

// The only file that knows which kinds of places exist.

interface PlaceSurroundings {
  env: Record<string, string | undefined>
  now(): number
  log?: Log
}

type MakePlace = (value: string, surroundings: PlaceSurroundings) => Promise<BlobPlace>

/** By the scheme of the URL. A kind is loaded when it is used. */
const kinds = new Map<string, MakePlace>([
  ['s3', async (url, { env, log }) => (await import('./s3.ts')).makeS3Place(url, env, log)],
])

/** The place that `--files` names: a directory, or a URL. Nothing is read or written yet. */
export const makePlace: MakePlace = async (value, surroundings) => {
  if (value === '') throw new PlaceUrlRefused('--files is empty; it takes a directory or s3://BUCKET/PREFIX')
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(value)?.[1]?.toLowerCase()
  if (scheme === undefined) return new DirectoryPlace(value, { now: surroundings.now })
  const make = kinds.get(scheme)
  // The rest of the URL is not repeated: it may contain a password.
  if (make === undefined) {
    throw new PlaceUrlRefused(`--files begins with "${scheme}://"; it takes a directory or s3://BUCKET/PREFIX`)
  }
  return make(value, surroundings)
}

/** The same; throws OperatorError if the place cannot be used now. A directory is made at the first upload. */
export const openPlace: MakePlace = async (value, surroundings) => {
  const place = await makePlace(value, surroundings)
  await place.probe?.()
  return place
}
