import { type Signal, signal } from '@preact/signals'
import { ApiError } from '../../api/error.ts'
import { filePath, sendBytes } from '../../api/files.ts'
import { read } from '../../api/request.ts'
import type { FileRow } from '../../api/types.ts'
import { session } from '../../state/session.ts'
import { announce } from '../../ui/announce.ts'

// The uploads of this tab. They go on when the reader opens another screen.

type UploadState =
  | { at: 'waiting' }
  | { at: 'sending'; part: number }
  | { at: 'done' }
  /** Another file has the name: the reader decides. */
  | { at: 'exists'; stored: FileRow }
  | { at: 'failed'; error: unknown }

export interface Upload {
  id: number
  /** The owner: another organization must neither see the upload nor get the file. */
  organization: string | undefined
  db: string
  bucket: string
  name: string
  body: File
  visibility: 'private' | 'public'
  /** The file to replace, as it was read; undefined: only if no file has the name. */
  replaces: FileRow | undefined
  state: Signal<UploadState>
  controller: AbortController
}

const atOnceMax = 3
let lastId = 0
const uploads = signal<readonly Upload[]>([])

export const uploadsOf = (db: string, bucket: string): Upload[] =>
  uploads.value.filter(
    (upload) =>
      upload.organization === session.value?.self.organization && upload.db === db && upload.bucket === bucket,
  )

export const isActive = ({ state }: Upload): boolean => state.value.at === 'waiting' || state.value.at === 'sending'

const parametersOf = ({ visibility, replaces }: Upload): string => {
  const kept = replaces && {
    // A PUT replaces all that is stored about the file. Only its bytes and their type are new.
    visibility: replaces.visibility,
    metadata: replaces.metadata,
    ...(replaces.ttl !== undefined && { ttl: String(replaces.ttl) }),
  }
  return new URLSearchParams(kept ?? { visibility }).toString()
}

const readStored = (path: string): Promise<FileRow> => read<FileRow>('GET', `${path}?record=true`)

const sendOne = async (upload: Upload): Promise<UploadState> => {
  const { db, bucket, name, body, replaces, state, controller, organization } = upload
  try {
    if (organization !== session.value?.self.organization) throw new Error('You signed out before it was sent.')
    const path = filePath(db, bucket, name)
    try {
      await sendBytes(`${path}?${parametersOf(upload)}`, body, {
        headers: replaces === undefined ? { 'If-None-Match': '*' } : { 'If-Match': `"${replaces.updatedAt}"` },
        signal: controller.signal,
        onProgress: (part) => {
          state.value = { at: 'sending', part }
        },
      })
      return { at: 'done' }
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 412) throw error
      return { at: 'exists', stored: await readStored(path) }
    }
  } catch (error) {
    return { at: 'failed', error }
  }
}

const warnOfLoss = (event: BeforeUnloadEvent): void => event.preventDefault()

/** Starts what waits, as far as it may. */
const pump = async (): Promise<void> => {
  const sending = uploads.value.filter(({ state }) => state.value.at === 'sending').length
  const next = uploads.value.find(({ state }) => state.value.at === 'waiting')
  if (next === undefined || sending >= atOnceMax) return
  addEventListener('beforeunload', warnOfLoss)
  next.state.value = { at: 'sending', part: 0 }
  pump()
  next.state.value = await sendOne(next)
  if (!uploads.value.some(isActive)) {
    removeEventListener('beforeunload', warnOfLoss)
    announce('The uploads have ended.')
  }
  pump()
}

interface NewUpload {
  name: string
  body: File
  visibility: 'private' | 'public'
  replaces?: FileRow
}

export const startUploads = (db: string, bucket: string, files: NewUpload[]): void => {
  const added = files.map(
    ({ name, body, visibility, replaces }): Upload => ({
      id: ++lastId,
      organization: session.value?.self.organization,
      db,
      bucket,
      name,
      body,
      visibility,
      replaces,
      state: signal<UploadState>({ at: 'waiting' }),
      controller: new AbortController(),
    }),
  )
  uploads.value = [...uploads.value, ...added]
  pump()
}

/** Cancelled, skipped or done with. */
export const dropUploads = (dropped: readonly Upload[]): void => {
  uploads.value = uploads.value.filter((upload) => !dropped.includes(upload))
  for (const upload of dropped) if (isActive(upload)) upload.controller.abort()
  pump()
}

/** Uploads once more, over `replaces` if the reader has agreed to that. */
export const sendAgain = (upload: Upload, replaces: FileRow | undefined): void => {
  upload.replaces = replaces
  upload.state.value = { at: 'waiting' }
  pump()
}
