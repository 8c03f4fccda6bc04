import { CubbyError } from '../../../server/src/core/errors.ts'
import { parseName } from '../../../server/src/core/names.ts'

/**
 * The reason why the server rejects the name of a database, table, bucket or task, in its words, with its hint; undefined if it
 * takes it. The sentence begins with `what`.
 */
export const nameFault = (text: string, what = 'The name'): string | undefined => {
  try {
    parseName(text, what)
    return undefined
  } catch (error) {
    if (!(error instanceof CubbyError)) throw error
    return `${error.message} ${error.hint}`
  }
}
