/** What a sample prints of the answer. */
export type Shown = 'json' | 'text' | 'headers'
