import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { filePath, readBytes } from '../../api/files.ts'
import type { FileRow } from '../../api/types.ts'

// Pictures of files. Bytes come with the key, so they are shown from memory, and only in <img>, where no script runs.

const shownTypes = /^image\/(png|jpeg|gif|webp|avif|svg\+xml)$/
const thumbnailBytesMax = 1_000_000
const atOnceMax = 4

export const mediaTypeOf = ({ contentType }: Pick<FileRow, 'contentType'>): string =>
  contentType.split(';')[0]!.trim().toLowerCase()

export const isPicture = (file: FileRow): boolean => shownTypes.test(mediaTypeOf(file))

/** Few at once: a page of pictures must not hold up the other requests. */
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
  /** Without an error the bytes came, and are no picture. */
  onFail: (error?: unknown) => void
}

/** Loads once it comes near the part that is seen. */
export const Picture = ({ db, bucket, file, alt, onFail }: PictureProps) => {
  const element = useRef<HTMLSpanElement>(null)
  const url = useSignal<string | undefined>(undefined)
  useEffect(() => {
    const controller = new AbortController()
    const load = async () => {
      try {
        await inTurn(async () => {
          controller.signal.throwIfAborted()
          const bytes = await readBytes(filePath(db, bucket, file.name), controller.signal)
          if (!controller.signal.aborted) url.value = URL.createObjectURL(bytes)
        })
      } catch (error) {
        if (!controller.signal.aborted) onFail(error)
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
      if (url.value !== undefined) URL.revokeObjectURL(url.value)
      url.value = undefined
    }
  }, [file.updatedAt])
  return (
    <span ref={element} class="picture">
      {url.value !== undefined && <img src={url.value} alt={alt} onError={() => onFail()} />}
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
        <Picture
          db={db}
          bucket={bucket}
          file={file}
          alt=""
          onFail={() => {
            hasFailed.value = true
          }}
        />
      ) : (
        extensionOf(file.name)
      )}
    </span>
  )
}
