import type { CurlRequest } from '../curl.ts'
import { literal, python, Source } from './literal.ts'
import type { Shown } from './shown.ts'

const printed: Record<Shown, string> = {
  json: 'answer.json()',
  text: 'answer.text',
  headers: 'dict(answer.headers)',
}

const keyHeader = { Authorization: new Source(`f"Bearer {os.environ['CUBBY_KEY']}"`) }

/** With `requests`, which nearly every Python programmer knows. */
export const pythonSample = ({ method, target, headers, body, bytes, withKey }: CurlRequest, shown: Shown): string => {
  const sent = { ...(withKey && keyHeader), ...headers }
  const given = [`os.environ["CUBBY_URL"] + ${literal(target, python)}`]
  if (Object.keys(sent).length > 0) given.push(`headers=${literal(sent, python, 1, 8)}`)
  if (body !== undefined) given.push(`json=${literal(body, python, 1, 5)}`)
  if (bytes !== undefined) given.push(`data=${literal(bytes, python, 1, 5)}`)
  const call = `requests.${method.toLowerCase()}`
  const inline = `answer = ${call}(${given.join(', ')})`
  const request =
    inline.length <= 72 && !inline.includes('\n') ? inline : `answer = ${call}(\n    ${given.join(',\n    ')},\n)`
  return `import os

import requests

${request}
print(answer.status_code, ${printed[shown]})`
}
