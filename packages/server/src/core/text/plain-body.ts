import { type Members, parseObject } from '../members.ts'
import { checkJson, isCheapToBuild, parseJson } from './json-scan.ts'
import { outline, refuseDuplicateMembers } from './json-span.ts'

/** The members of a body that carries no `data`. What no request looks into may be left out of a large one. */
export const parsePlainBody = (text: string): Members => {
  if (isCheapToBuild(text)) return parseSmallBody(text)
  checkJson(text)
  const members = parseObject(outline(text))
  refuseDuplicateMembers(text)
  return members
}

const parseSmallBody = (text: string): Members => {
  const members = parseObject(parseJson(text))
  // Of two members of one name only one is left after parsing. A body without white space, as most clients send it, is
  // seen to be whole at once.
  if (JSON.stringify(members) !== text) refuseDuplicateMembers(text)
  return members
}
