import { describeValue } from '../core/describe-value.ts'
import { CubbyError } from '../core/errors.ts'
import { pageRowsDefault, pageRowsMax } from '../core/limits.ts'
import { type Members, parseLimit } from '../core/members.ts'

/** What every listing takes. Its cursor is checked by the listing that it belongs to. */
export interface ListingInput {
  limit: number
  cursor: string | undefined
}

export const parseListing = ({ limit, cursor }: Members): ListingInput => {
  if (cursor !== undefined && typeof cursor !== 'string') {
    throw new CubbyError('invalid_cursor', `cursor is ${describeValue(cursor)}; it takes a string.`, {
      field: 'cursor',
      hint: 'Leave it out for the first page.',
    })
  }
  return { limit: parseLimit(limit, pageRowsDefault, pageRowsMax), cursor }
}

export const pagesNote = 'Pages end with `"cursor": null`; send another `cursor` back for the next one.'
