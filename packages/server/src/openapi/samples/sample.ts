import { type CurlRequest, curlLine } from '../curl.ts'
import type { HttpExample } from '../examples/http-example.ts'
import { pythonSample } from './python.ts'
import { shownOf } from './shown.ts'
import { typescriptSample } from './typescript.ts'

export const languages = { curl: 'curl', typescript: 'TypeScript', python: 'Python' } as const
export type Language = keyof typeof languages

/** The request of an example in every language. */
export const samplesOf = (request: CurlRequest, example: HttpExample): Record<Language, string> => ({
  curl: curlLine(request),
  typescript: typescriptSample(request, example),
  python: pythonSample(request, shownOf(example)),
})
