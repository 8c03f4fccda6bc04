import type { HttpExample } from '../examples/http-example.ts'

/** What a sample prints of the answer. */
export type Shown = 'json' | 'text' | 'headers'

export const shownOf = ({ answer }: HttpExample): Shown => {
  if (answer === undefined) return 'headers'
  return typeof answer === 'string' ? 'text' : 'json'
}
