import { all, create, serverUrl } from './dom.ts'
import { isSegment, segmentsOf, send, targetOf } from './send.ts'
import type { TryItExample, TryItOperation } from './try-it-data.ts'
import { failureView, responseView } from './try-it-response.ts'

// A form that sends a request to this server. The API key exists only as the value of one input: it is written to no storage,
// no attribute and no address, and it is gone when the page is closed or loaded again.

/** The warning beside the request, by its effect. */
const warnings = { reads: '', changes: 'changes data on this server', deletes: 'deletes data on this server' }

/** The input of the API key. It is not of the type `password`: browsers would offer to store it. */
const createKeyInput = (): HTMLInputElement =>
  create('input', {
    id: 'api-key',
    type: 'text',
    class: 'secret',
    autocomplete: 'off',
    autocapitalize: 'off',
    spellcheck: 'false',
    placeholder: 'svc_live_… or svc_pub_…',
  })

const labelled = (label: string, note: string, input: HTMLElement): HTMLElement =>
  create('div', { class: 'row' }, create('label', { for: input.id }, label, ' ', create('small', {}, note)), input)

class TryIt {
  readonly #operations: Record<string, TryItOperation>
  readonly #dialog = create('dialog', { class: 'try', 'aria-labelledby': 'try-title' })
  readonly #title = create('h2', { id: 'try-title' })
  readonly #form = create('form', { novalidate: '' })
  readonly #key = createKeyInput()
  readonly #fields = create('div', { class: 'rows' })
  readonly #body = create('textarea', { id: 'try-body', spellcheck: 'false', rows: '10' })
  readonly #file = create('input', { id: 'try-file', type: 'file' })
  readonly #line = create('p', { class: 'line' })
  readonly #problem = create('p', { class: 'problem', role: 'alert' })
  readonly #send = create('button', { class: 'primary' }, 'Send')
  readonly #answer = create('div', { class: 'received', role: 'region', 'aria-label': 'Answer', 'aria-live': 'polite' })
  #inputs: Record<string, HTMLInputElement> = {}
  #operation: TryItOperation | undefined
  /** The request in flight. */
  #request: AbortController | undefined

  constructor(operations: Record<string, TryItOperation>) {
    this.#operations = operations
    const close = create('button', { type: 'button', class: 'quiet' }, 'Close')
    close.addEventListener('click', () => this.#dialog.close())
    const note = create('small', { class: 'hint' }, 'Ctrl and Enter send too.')
    const actions = create('div', { class: 'actions' }, this.#send, note)
    this.#form.append(this.#fields, this.#problem, this.#line, actions)
    this.#dialog.append(create('div', { class: 'head' }, this.#title, close), this.#form, this.#answer)
    document.body.append(this.#dialog)
    this.#form.addEventListener('input', () => this.#update())
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault()
      this.#submit()
    })
    this.#form.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter') return
      if (event.ctrlKey || event.metaKey) this.#form.requestSubmit()
      // Enter in an input would send the request, which is too easy if it changes data.
      else if (event.target instanceof HTMLInputElement && this.#operation!.effect !== 'reads') event.preventDefault()
    })
    this.#dialog.addEventListener('close', () => {
      this.#request?.abort()
      this.#request = undefined
      this.#showSending()
    })
    this.#dialog.addEventListener('click', (event) => {
      if (event.target === this.#dialog) this.#dialog.close()
    })
  }

  /** Fills the form with an example of the operation. The key stays. */
  open(id: string, example: string): void {
    const operation = this.#operations[id]!
    const { values, body }: Pick<TryItExample, 'values' | 'body'> = operation.examples[example] ?? {
      values: {},
      body: '',
    }
    this.#operation = operation
    this.#title.textContent = operation.title
    this.#inputs = {}
    const rows = operation.parameters.map(({ name, parameterIn, required }) => {
      const input = create('input', { id: `try-${name}`, type: 'text', autocomplete: 'off', spellcheck: 'false' })
      input.value = values[name] ?? ''
      if (required) input.required = true
      this.#inputs[name] = input
      return labelled(name, required ? parameterIn : `${parameterIn}, optional`, input)
    })
    if (operation.needsKey)
      rows.unshift(labelled('API key', 'kept in memory only, until this page is closed', this.#key))
    if (operation.takesBytes) rows.push(labelled('File', 'its bytes are the body', this.#file))
    if (operation.hasBody)
      rows.push(labelled('Body', operation.takesBytes ? 'text, if no file is chosen' : 'JSON', this.#body))
    this.#file.value = ''
    this.#body.value = body
    this.#body.rows = Math.max(4, Math.min(20, body.split('\n').length + 1))
    this.#fields.replaceChildren(...rows)
    this.#answer.replaceChildren()
    this.#update()
    this.#dialog.showModal()
    this.#dialog.scrollTop = 0
    // Enter on the focused button sends, so the button gets the focus only if the request changes no data.
    if (operation.needsKey && (operation.effect !== 'reads' || this.#key.value === '')) this.#key.focus()
    else this.#send.focus({ preventScroll: true })
  }

  #values(): Record<string, string> {
    return Object.fromEntries(Object.entries(this.#inputs).map(([name, input]) => [name, input.value]))
  }

  /** Returns why the form cannot be sent, and the input to correct. */
  #refusal(): [string, HTMLInputElement] | undefined {
    for (const { name, parameterIn, required } of this.#operation!.parameters) {
      const input = this.#inputs[name]!
      if (required && input.value === '') return [`${name} is empty; the request needs it.`, input]
      if (parameterIn === 'path' && !segmentsOf(name, input.value).every(isSegment))
        return [`${name} is "${input.value}", which no path can have.`, input]
    }
    if (this.#operation!.needsKey && /[^\x21-\x7e]/.test(this.#key.value.trim())) {
      return ['The API key has characters that no key has.', this.#key]
    }
    return undefined
  }

  /** Says what is wrong with the body. It is sent all the same: the response to invalid JSON is worth seeing too. */
  #bodyFault(): string {
    const { hasBody, takesBytes } = this.#operation!
    if (!hasBody || takesBytes || this.#body.value.trim() === '') return ''
    try {
      JSON.parse(this.#body.value)
      return ''
    } catch (error) {
      return `The body is not JSON: ${(error as Error).message}`
    }
  }

  #update(): void {
    const { method, effect } = this.#operation!
    const target = targetOf(this.#operation!, this.#values())
    this.#line.replaceChildren(
      create('b', {}, method),
      ` ${serverUrl()}${target}`,
      ...(effect === 'reads' ? [] : [create('small', { class: effect }, ` ${warnings[effect]}`)]),
    )
    this.#problem.textContent = this.#refusal()?.[0] ?? this.#bodyFault()
  }

  /** A disabled button would lose the focus. */
  #showSending(): void {
    const sending = this.#request !== undefined
    this.#send.textContent = sending ? 'Sending …' : 'Send'
    this.#send.setAttribute('aria-disabled', String(sending))
  }

  async #submit(): Promise<void> {
    const refusal = this.#refusal()
    if (refusal !== undefined) return refusal[1].focus()
    // A second click must not write twice.
    if (this.#request !== undefined) return
    this.#request = new AbortController()
    const { signal } = this.#request
    this.#showSending()
    const [file] = this.#file.files ?? []
    const values = { parameters: this.#values(), body: this.#body.value, file, key: this.#key.value.trim() }
    const shown = await send(this.#operation!, values, signal).then(responseView, failureView)
    // The form was closed; it may be that of another operation now.
    if (signal.aborted) return
    this.#request = undefined
    this.#showSending()
    this.#answer.replaceChildren(shown)
    this.#answer.scrollIntoView({ block: 'nearest' })
  }
}

export const startTryIt = (): void => {
  const data = document.getElementById('operations')!.textContent!
  const operations = JSON.parse(data) as Record<string, TryItOperation>
  const tryIt = new TryIt(operations)
  for (const box of all('.examples[data-operation]')) {
    if (!Object.hasOwn(operations, box.dataset.operation!)) continue
    const button = create('button', { type: 'button', class: 'try-it' }, 'Try it')
    button.addEventListener('click', () => {
      const open = box.querySelector<HTMLElement>('details[open]')
      tryIt.open(box.dataset.operation!, open?.dataset.example ?? '')
    })
    box.querySelector('.tools')!.append(button)
  }
}
