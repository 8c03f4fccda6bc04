import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { filePath, ownAddress } from '../../api/files.ts'
import { send } from '../../api/request.ts'
import type { FileRow } from '../../api/types.ts'
import { set } from '../../ui/action.tsx'

// Pictures of files: only in <img>, where no script runs, and only by the address at which the server serves them. A reader
// who opens that address gets the headers of the server; a picture from memory would be a document of this page's origin.

const shownTypes = /^image\/(png|jpeg|gif|webp|avif|svg\+xml)$/
const thumbnailBytesMax = 1_000_000
const atOnceMax = 4

export const mediaTypeOf = ({ contentType }: Pick<FileRow, 'contentType'>): string =>
  contentType.split(';')[0]!.trim().toLowerCase()

export const isPicture = (file: FileRow): boolean => shownTypes.test(mediaTypeOf(file))

/** The number of pictures that load now. Only a few load at once, so that they do not hold up other requests. */
let running = 0
const waiting: (() => void)[] = []

const inTurn = async <T,>(run: () => Promise<T>): Promise<T> => {
  if (running >= atOnceMax) await new Promise<void>((resolve) => waiting.push(resolve))
  running++
  try {
    return await run()
  } finally {
    running--
    waiting.shift()?.()
  }
}

interface PictureProps {
  db: string
  bucket: string
  file: FileRow
  alt: string
  /** No error means that the server has the bytes, and they are no picture. */
  onFail: (error?: unknown) => void
}

/** Loads once it comes near the part that is seen. */
export const Picture = ({ db, bucket, file, alt, onFail }: PictureProps) => {
  const element = useRef<HTMLSpanElement>(null)
  const url = useSignal<string | undefined>(undefined)
  /** Ends the turn: whether the browser shows the picture. */
  const onEnd = useRef((_isShown: boolean) => {})
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    const load = async () => {
      try {
        await inTurn(async () => {
          signal.throwIfAborted()
          const address = await ownAddress(db, bucket, file, signal)
          signal.throwIfAborted()
          url.value = address
          const isShown = await new Promise<boolean>((resolve, reject) => {
            onEnd.current = resolve
            signal.addEventListener('abort', () => reject(signal.reason))
          })
          if (isShown) return
          // The browser does not tell why. A request for one byte does.
          await send('GET', filePath(db, bucket, file.name), { headers: { Range: 'bytes=0-0' }, signal })
          onFail()
        })
      } catch (error) {
        if (!signal.aborted) onFail(error)
      }
    }
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return
        observer.disconnect()
        load()
      },
      { rootMargin: '200px' },
    )
    observer.observe(element.current!)
    return () => {
      observer.disconnect()
      controller.abort()
      url.value = undefined
    }
  }, [file.updatedAt])
  return (
    <span ref={element} class="picture">
      {url.value !== undefined && (
        <img src={url.value} alt={alt} onLoad={() => onEnd.current(true)} onError={() => onEnd.current(false)} />
      )}
    </span>
  )
}

const extensionOf = (name: string): string => /\.([A-Za-z0-9]{1,4})$/.exec(name)?.[1] ?? ''

/** A small picture, or the extension. */
export const Thumbnail = ({ db, bucket, file }: Omit<PictureProps, 'alt' | 'onFail'>) => {
  const hasFailed = useSignal(false)
  return (
    <span class="thumbnail" aria-hidden="true">
      {isPicture(file) && file.size <= thumbnailBytesMax && !hasFailed.value ? (
        <Picture db={db} bucket={bucket} file={file} alt="" onFail={set(hasFailed, true)} />
      ) : (
        extensionOf(file.name)
      )}
    </span>
  )
}
