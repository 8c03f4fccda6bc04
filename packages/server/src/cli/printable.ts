// C0, DEL and C1 drive a terminal; line separators end a line where some viewers look; bidirectional overrides and
// isolates show text in another order than it has.
const unprintable = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g
const inJson = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/**
 * One line that is safe on a terminal: names of API keys, record keys and field names may hold anything. The escapes are
 * those of JSON, so that a line of JSON stays one and says the same.
 */
export const printable = (line: string): string => line.replace(unprintable, escaped)

/**
 * The same for JSON that may have white space between its values. C0 is escaped in its strings already; outside of them
 * only a carriage return does harm: what follows it would be written over the line.
 */
export const printableJson = (text: string): string => text.replaceAll(/\r\n?/g, '\n').replace(inJson, escaped)
