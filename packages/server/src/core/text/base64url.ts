/** The bytes; undefined unless the text is what encoding them gives: without padding, white space and spare bits. */
export const decodeBase64Url = (text: string): Buffer | undefined => {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}
