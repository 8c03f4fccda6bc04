import { signal, useSignal } from '@preact/signals'
import { curlOf } from '../api/curl.ts'
import { type Answer, connection, exchange, refusalOf } from '../api/request.ts'
import { canWrite, session } from '../state/session.ts'
import { checkJson } from '../text/check.ts'
import { formatJson } from '../text/format.ts'
import { bytesOf } from '../text/instant.ts'
import { announce } from '../ui/announce.ts'
import { CopyButton } from '../ui/copy-button.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { Field } from '../ui/form.tsx'
import { JsonView } from '../ui/json-view.tsx'
import { Screen, Section } from '../ui/screen.tsx'

// `#/_pad`: any request of the API, sent with the key of the session.

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']
/** The methods for a public key: queries are POST too. */
const readingMethods = ['GET', 'POST', 'HEAD']
const withBody = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])
const historyMax = 50
/** Longer texts are shown from their beginning: the whole text is copied. */
const shownCharactersMax = 200_000

interface Sent {
  method: string
  path: string
  headers: string
  body: string
}

interface Exchange {
  request: Sent
  answer?: Answer
  error?: unknown
}

/** The requests, newest first, for as long as the tab lives and the same organization is signed in. */
const history = signal<{ organization: string; exchanges: Exchange[] }>({ organization: '', exchanges: [] })
const emptyDraft: Sent = { method: 'GET', path: '/v1', headers: '', body: '' }
/** The typed request, by organization: the next one to sign in must not see it. */
const drafts = signal<ReadonlyMap<string, Sent>>(new Map())

const exchangesOf = (organization: string): Exchange[] =>
  history.value.organization === organization ? history.value.exchanges : []

/** The headers of a text with one `Name: value` on each line. */
const headersOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => {
        const at = line.indexOf(':')
        return [line.slice(0, at).trim(), line.slice(at + 1).trim()]
      }),
  )

const headersFault = (text: string): string | undefined => {
  const wrong = text.split('\n').find((line) => line.trim() !== '' && !/^\s*[A-Za-z0-9-]+\s*:/.test(line))
  return wrong === undefined ? undefined : `“${wrong.slice(0, 80)}” is not a header. Write Name: value, one a line.`
}

const bodyNote = (text: string): string => {
  if (text === '') return 'Sent exactly as typed.'
  const result = checkJson(text)
  return result.ok ? `Valid JSON · ${bytesOf(new TextEncoder().encode(text).length)}` : result.message
}

const isJson = (answer: Answer): boolean => (answer.headers.get('content-type') ?? '').startsWith('application/json')

const AnswerView = ({ of: { request, answer, error } }: { of: Exchange }) => {
  const isFormatted = useSignal(false)
  if (error !== undefined) return <ErrorBox error={error} />
  if (answer === undefined) return null
  const { status, headers, text, ms } = answer
  const laidOut = isFormatted.value && isJson(answer) && checkJson(text).ok ? formatJson(text) : text
  const shown = laidOut.slice(0, shownCharactersMax)
  return (
    <Section
      title={`${request.method} ${request.path}`}
      actions={
        <>
          {isJson(answer) && (
            <label class="check">
              <input
                type="checkbox"
                checked={isFormatted}
                onChange={(event) => {
                  isFormatted.value = event.currentTarget.checked
                }}
              />
              Format
            </label>
          )}
          <CopyButton label="Copy the answer" text={() => text} />
        </>
      }
    >
      <p>
        <span class={`tag ${status < 400 ? 'ok' : 'danger'}`}>
          {status} {status < 400 ? 'succeeded' : 'failed'}
        </span>{' '}
        <span class="muted">
          {Math.round(ms)} ms · {bytesOf(new TextEncoder().encode(text).length)}
        </span>
      </p>
      <details>
        <summary>Headers of the answer</summary>
        <dl class="facts">
          {[...headers].map(([name, value]) => [<dt key={`${name}-name`}>{name}</dt>, <dd key={name}>{value}</dd>])}
        </dl>
      </details>
      {text === '' ? (
        <p class="muted">The answer has no body.</p>
      ) : (
        <JsonView text={shown} label="Body of the answer" />
      )}
      {shown.length < laidOut.length && (
        <p class="muted">
          Only the first {shownCharactersMax.toLocaleString('en')} characters are shown. “Copy the answer” copies all of
          it.
        </p>
      )}
    </Section>
  )
}

export const PadScreen = () => {
  const organization = session.value?.self.organization ?? ''
  const isRunning = useSignal(false)
  const current = useSignal<Exchange | undefined>(exchangesOf(organization)[0])
  const typed = drafts.value.get(organization) ?? emptyDraft
  // A request that was typed with a secret key may have another method.
  const request = canWrite.value || readingMethods.includes(typed.method) ? typed : { ...typed, method: 'GET' }
  const change = (part: Partial<Sent>) => {
    drafts.value = new Map(drafts.value).set(organization, { ...typed, ...part })
  }
  const fault = headersFault(request.headers)
  const pathFault = request.path.startsWith('/') ? undefined : 'A path begins with /, such as /v1.'
  const hasBody = withBody.has(request.method)
  const submit = async (event?: Event) => {
    event?.preventDefault()
    if (isRunning.value || fault !== undefined || pathFault !== undefined) return
    isRunning.value = true
    const { method, path, headers, body } = request
    let done: Exchange
    try {
      const options = { headers: headersOf(headers), body: hasBody && body !== '' ? body : undefined }
      const { key } = connection
      const answer = await exchange(method, path, options)
      done = { request, answer }
      announce(`Status ${answer.status}`)
      // The session's key is not concerned if the headers have another key.
      const isOwnKey = !Object.keys(options.headers).some((name) => name.toLowerCase() === 'authorization')
      if (answer.status >= 400 && isOwnKey) {
        refusalOf(answer.status, answer.text, answer.headers.get('x-request-id'), key)
      }
    } catch (error) {
      done = { request, error }
    }
    current.value = done
    history.value = { organization, exchanges: [done, ...exchangesOf(organization)].slice(0, historyMax) }
    isRunning.value = false
  }
  const past = exchangesOf(organization)
  return (
    <Screen title="Request pad">
      <div class="pad wide pad-columns">
        <form class="stack" onSubmit={submit}>
          <div class="pad-line">
            <select
              aria-label="Method"
              value={request.method}
              onChange={(event) => change({ method: event.currentTarget.value })}
            >
              {(canWrite.value ? methods : readingMethods).map((method) => (
                <option key={method}>{method}</option>
              ))}
            </select>
            <input
              class="mono"
              aria-label="Path"
              data-focus-key="/"
              autocomplete="off"
              autocapitalize="off"
              spellcheck={false}
              aria-invalid={pathFault !== undefined}
              value={request.path}
              onInput={(event) => change({ path: event.currentTarget.value })}
            />
            <button type="submit" class="filled" disabled={isRunning.value}>
              Send
            </button>
          </div>
          {pathFault !== undefined && <p class="fault">{pathFault}</p>}
          {hasBody && (
            <Field label="Body" hint={bodyNote(request.body)}>
              {(id, describedBy) => (
                <textarea
                  id={id}
                  class="mono"
                  rows={10}
                  spellcheck={false}
                  aria-describedby={describedBy}
                  value={request.body}
                  onInput={(event) => change({ body: event.currentTarget.value })}
                  onKeyDown={(event) => {
                    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit()
                  }}
                />
              )}
            </Field>
          )}
          <details open={request.headers !== ''}>
            <summary>Headers</summary>
            <Field
              label="More headers"
              fault={fault}
              hint="One a line. Authorization and Content-Type are sent without being typed."
            >
              {(id, describedBy) => (
                <textarea
                  id={id}
                  class="mono"
                  rows={3}
                  spellcheck={false}
                  placeholder={'If-Match: "1794761737644"'}
                  aria-describedby={describedBy}
                  value={request.headers}
                  onInput={(event) => change({ headers: event.currentTarget.value })}
                />
              )}
            </Field>
          </details>
          <div class="actions">
            <CopyButton
              label="Copy as curl"
              text={() =>
                curlOf({
                  method: request.method,
                  path: request.path,
                  headers: headersOf(request.headers),
                  body: hasBody && request.body !== '' ? request.body : undefined,
                })
              }
            />
          </div>
        </form>
        <Section title="History of this tab">
          {past.length === 0 && <p class="muted">Requests that you send are listed here until you close the tab.</p>}
          <ol class="history">
            {past.map((each, index) => (
              <li key={past.length - index}>
                <button
                  type="button"
                  class="quiet"
                  onClick={() => {
                    change(each.request)
                    current.value = each
                  }}
                >
                  <code>
                    {each.request.method} {each.request.path}
                  </code>
                  <small>{each.answer?.status ?? 'no answer'}</small>
                </button>
              </li>
            ))}
          </ol>
        </Section>
        <div class="pad-answer">{current.value && <AnswerView of={current.value} />}</div>
      </div>
    </Screen>
  )
}
