// C0, DEL and C1 control a terminal; some viewers end a line at a line separator; bidirectional overrides and isolates
// show text in another order than it has.
const unprintable = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g
const inJson = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/**
 * One line that is safe on a terminal: names of API keys, record keys and field names may contain anything. The escapes are
 * those of JSON, so that a line of JSON keeps its meaning.
 */
export const printable = (line: string): string => line.replace(unprintable, escaped)

/**
 * The same for JSON with white space between its values. In its strings C0 is escaped already. Outside of them only a
 * carriage return does harm: what follows it would overwrite the line.
 */
export const printableJson = (text: string): string => text.replaceAll(/\r\n?/g, '\n').replace(inJson, escaped)
