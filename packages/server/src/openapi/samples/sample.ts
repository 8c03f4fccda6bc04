import { parseCurlLine } from '../curl.ts'
import { pythonSample } from './python.ts'
import type { Shown } from './shown.ts'
import { typescriptSample } from './typescript.ts'

export const languages = { curl: 'curl', typescript: 'TypeScript', python: 'Python' } as const
export type Language = keyof typeof languages

/** The same request in every language. `curl` is the command of the document. */
export const samplesOf = (curl: string, status: number, shown: Shown): Record<Language, string> => {
  const request = parseCurlLine(curl)
  return { curl, typescript: typescriptSample(request, status, shown), python: pythonSample(request, shown) }
}
