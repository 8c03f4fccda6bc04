import { minifyJson } from './ndjson.ts'
import { writeTextToStdout } from './write-lines.ts'

/** A task or a run in one line. Its payload is as it was sent, and may have line breaks between its members. */
export const printObject = (text: string): Promise<void> => writeTextToStdout(minifyJson(text))
