import { pageRowsDefault, pageRowsMax } from '../core/limits.ts'
import { type Members, parseLimit } from '../core/members.ts'

/** What every listing takes. Its cursor is checked by the listing that it belongs to. */
export interface ListingInput {
  limit: number
  cursor: string | undefined
}

export const parseListing = ({ limit, cursor }: Members): ListingInput => ({
  limit: parseLimit(limit, pageRowsDefault, pageRowsMax),
  cursor: (cursor ?? undefined) as string | undefined,
})

export const pagesNote = 'Pages end with `"cursor": null`; send another `cursor` back for the next one.'
