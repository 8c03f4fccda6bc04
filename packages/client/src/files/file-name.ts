import { checkPart, encodePath } from '../records/record-key.ts'
import { refusal } from '../transport/errors.ts'

const refused = /^\/|\/\/|\/$|[\u0000-\u001f\u007f-\u009f]/

/** `/name`, each segment encoded. What a URL parser drops from a path is refused: `a/../b` would be another file. */
export const filePath = (name: string): string => {
  checkPart(name, 'name')
  if (refused.test(name))
    throw refusal('invalid_key', 'name', 'begins or ends with "/", or has "//" or a control character.')
  const segments = name.split('/')
  for (const segment of segments) checkPart(segment, 'name')
  return encodePath(segments, 'name')
}
