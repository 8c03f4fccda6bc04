import { describeValue } from '../core/describe-value.ts'
import { CubbyError } from '../core/errors.ts'
import { pageRowsDefault, pageRowsMax } from '../core/limits.ts'
import { type Members, parseLimit } from '../core/members.ts'

/** The input that all listings share. Each listing checks its own cursor. */
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

export const pagesNote = 'The last page has `"cursor": null`; otherwise send `cursor` back to get the next page.'
