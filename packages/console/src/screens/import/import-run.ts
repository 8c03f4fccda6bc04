import { signal } from '@preact/signals'
import { loadCatalogue } from '../../state/catalogue.ts'
import { session } from '../../state/session.ts'
import { announce } from '../../ui/announce.tsx'
import type { Refused } from './import-requests.ts'
import { Importer, type ImportOptions } from './importer.ts'
import { openFile, readLines } from './read-lines.ts'

// The import that runs. It goes on while the reader looks at other screens.

export interface ImportState {
  organization: string | undefined
  fileName: string
  fileBytes: number
  bytesRead: number
  lines: number
  records: number
  expired: number
  refusedCount: number
  refused: Refused[]
  notes: Refused[]
  elapsedMs: number
  status: 'running' | 'stopping' | 'done' | 'stopped' | 'failed'
  error?: unknown
}

export const importState = signal<ImportState | undefined>(undefined)

const shownEveryMs = 200
let stop = (): void => {}
let last: Importer | undefined

export const stopImport = (): void => stop()

const askBeforeUnload = (event: Event): void => event.preventDefault()

/** `records`, in order. The order of the refused ones is that of their batches. */
const byLine = (refused: Refused[]): Refused[] => [...refused].sort((a, b) => a.line - b.line)

export const runImport = async (file: File, options: Omit<ImportOptions, 'organization'>): Promise<void> => {
  const organization = session.value?.self.organization
  const importer = new Importer({ ...options, organization })
  last = importer
  const startMs = performance.now()
  let bytesRead = 0
  const show = (status: ImportState['status'], error?: unknown): void => {
    // One of another organization may not have ended yet.
    if (last !== importer) return
    const { lines, records, expired, refusedCount, refused, notes } = importer
    const elapsedMs = performance.now() - startMs
    importState.value = {
      ...{ fileName: file.name, fileBytes: file.size, bytesRead, lines, records, expired, refusedCount, elapsedMs },
      ...{ refused: byLine(refused), notes: [...notes], status, error, organization },
    }
  }
  stop = () => {
    importer.isStopped = true
    show('stopping')
  }
  show('running')
  const timer = setInterval(() => show(importer.isStopped ? 'stopping' : 'running'), shownEveryMs)
  addEventListener('beforeunload', askBeforeUnload)
  try {
    await takeAll(importer, file, (bytes) => {
      bytesRead += bytes
    })
    show(importer.isStopped ? 'stopped' : 'done')
  } catch (error) {
    show('failed', error)
  } finally {
    clearInterval(timer)
    removeEventListener('beforeunload', askBeforeUnload)
    const { records, refusedCount } = importer
    announce(`Import ${importState.value!.status}: ${records} records, ${refusedCount} lines refused`)
    loadCatalogue()
  }
}

const takeAll = async (importer: Importer, file: File, onRead: (bytes: number) => void): Promise<void> => {
  const stream = await openFile(file, onRead)
  const reader = stream.getReader()
  const chunks = async function* () {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      yield value
    }
  }
  try {
    for await (const lines of readLines(chunks())) {
      for (const line of lines) {
        if (importer.isStopped) return
        await importer.take(line)
      }
    }
  } finally {
    reader.cancel().catch(() => {})
    // What was taken before a stop is sent; after a failure this throws it.
    await importer.finish()
  }
}
