import { type Members, parseObject } from '../members.ts'
import { checkJson, isCheapToBuild, parseJson } from './json-scan.ts'
import { outline, refuseDuplicateMembers } from './json-span.ts'

/** The members of a body without `data`. Of a large body, values that no request reads may be left out. */
export const parsePlainBody = (text: string): Members => {
  if (isCheapToBuild(text)) return parseSmallBody(text)
  checkJson(text)
  const members = parseObject(outline(text))
  refuseDuplicateMembers(text)
  return members
}

const parseSmallBody = (text: string): Members => {
  const members = parseObject(parseJson(text))
  // Parsing keeps only one of two members with the same name. A body without white space, as most clients send it, is
  // compared with its own serialization, which is faster.
  if (JSON.stringify(members) !== text) refuseDuplicateMembers(text)
  return members
}
