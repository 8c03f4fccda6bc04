/** Only a string matches. `pattern.test` alone takes undefined for the text "undefined". */
export const matches = (pattern: RegExp, given: unknown): given is string =>
  typeof given === 'string' && pattern.test(given)
