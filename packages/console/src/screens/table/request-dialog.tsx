import { useSignal } from '@preact/signals'
import { curlOf } from '../../api/curl.ts'
import { baseUrl } from '../../api/request.ts'
import { set } from '../../ui/action.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Code, JsonView } from '../../ui/json-view.tsx'
import { bodyOf, readForm } from './query-form.ts'
import { requestJson, requestTypeScript } from './request-forms.ts'
import type { TableQuery } from './table-query.ts'

type Form = 'JSON' | 'curl' | 'TypeScript'
const forms: readonly Form[] = ['JSON', 'curl', 'TypeScript']

/** The query in the bar as a request that works when it is pasted. */
export const RequestDialog = ({ query, onClose }: { query: TableQuery; onClose: () => void }) => {
  const shown = useSignal<Form>('JSON')
  const request = readForm(query.form.value, query.indices)
  if ('fault' in request) return null
  const path = `${query.path}/query`
  const texts: Record<Form, string> = {
    JSON: requestJson(request),
    curl: curlOf({ method: 'POST', path, body: bodyOf(request.members) }),
    TypeScript: requestTypeScript(request, baseUrl, query.db, query.table),
  }
  const text = texts[shown.value]
  return (
    <Dialog title="Show request" onClose={onClose} isWide>
      <div class="stack request">
        <div class="actions">
          <div class="choice" role="radiogroup" aria-label="Form">
            {forms.map((form) => (
              <label key={form}>
                <input type="radio" name="request-form" checked={shown.value === form} onChange={set(shown, form)} />
                {form}
              </label>
            ))}
          </div>
          <CopyButton text={() => text} what={`the ${shown.value}`} />
        </div>
        {shown.value === 'JSON' ? (
          <>
            <p>
              <code>POST {path}</code>
            </p>
            <JsonView text={text} label="Body of the request" />
          </>
        ) : (
          <Code label={shown.value}>{text}</Code>
        )}
        {shown.value !== 'JSON' && (
          <p class="muted">
            It reads the API key from the environment: <code>CUBBY_KEY</code>.
          </p>
        )}
      </div>
    </Dialog>
  )
}
