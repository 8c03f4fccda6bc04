import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { makeTempDir, type Organization, removeTempDir, type Server, startServer } from '../../server/test/harness.ts'
import { buildConsole } from '../build.ts'
import { until } from './console.ts'
import { hostileScript, hostileSvg } from './hostile-files.ts'

// Ways through the console in the other engine, where a Firefox is installed: sign in, find, edit and save a record exactly; look
// at a hostile picture.

setDefaultTimeout(120_000)

const candidates = [process.env.FIREFOX_PATH, '/usr/bin/firefox-esr', '/usr/bin/firefox']
const executablePath = candidates.find((path) => path !== undefined && path !== '' && existsSync(path))
if (executablePath === undefined) {
  console.warn('SKIPPED: the console in Firefox. None was found; set FIREFOX_PATH or install one.')
}

// biome-ignore lint/suspicious/noExplicitAny: the answers of the browser.
type Answer = any

/**
 * A page in Firefox, by WebDriver BiDi: playwright-core speaks it too, but asks every Firefox for commands that the one with
 * long-term support does not have.
 */
class FirefoxPage {
  readonly complaints: string[] = []
  /** The numbers of documents that have loaded, and of files that were saved instead. */
  readonly opened = { shown: 0, saved: 0 }
  readonly #waiting = new Map<number, PromiseWithResolvers<Answer>>()
  #lastId = 0
  #context = ''

  private constructor(
    readonly process: Bun.Subprocess<'ignore', 'ignore', 'pipe'>,
    private readonly socket: WebSocket,
  ) {
    socket.addEventListener('message', ({ data }) => {
      const { id, type, result, message, method, params } = JSON.parse(String(data))
      if (method === 'log.entryAdded' && params.level === 'error') this.complaints.push(params.text)
      if (method === 'browsingContext.load') this.opened.shown++
      if (method === 'browsingContext.downloadWillBegin') this.opened.saved++
      if (type === 'success') this.#waiting.get(id)?.resolve(result)
      if (type === 'error') this.#waiting.get(id)?.reject(new Error(message))
    })
  }

  static async open(path: string, profile: string): Promise<FirefoxPage> {
    const child = Bun.spawn([path, '--headless', '--no-remote', '--profile', profile, '--remote-debugging-port', '0'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, HOME: profile },
    })
    const address = Promise.withResolvers<string>()
    const read = async (): Promise<void> => {
      let text = ''
      for await (const chunk of child.stderr) {
        text += new TextDecoder().decode(chunk)
        const found = /WebDriver BiDi listening on (ws:\S+)/.exec(text)?.[1]
        if (found !== undefined) address.resolve(found)
      }
      address.reject(new Error(`Firefox ended: ${text}`))
    }
    void read()
    const socket = new WebSocket(`${await address.promise}/session`)
    await new Promise((resolve, reject) => {
      socket.onopen = resolve
      socket.onerror = reject
    })
    const page = new FirefoxPage(child, socket)
    await page.#send('session.new', { capabilities: {} })
    await page.#send('session.subscribe', {
      events: ['log.entryAdded', 'browsingContext.load', 'browsingContext.downloadWillBegin'],
    })
    page.#context = (await page.#send('browsingContext.getTree', {})).contexts[0].context
    return page
  }

  #send(method: string, params: object): Promise<Answer> {
    const id = ++this.#lastId
    const answer = Promise.withResolvers<Answer>()
    this.#waiting.set(id, answer)
    this.socket.send(JSON.stringify({ id, method, params }))
    return answer.promise
  }

  /** All that follows is in another tab. */
  async useNewTab(): Promise<void> {
    this.#context = (await this.#send('browsingContext.create', { type: 'tab' })).context
  }

  async goto(url: string): Promise<void> {
    await this.#send('browsingContext.navigate', { context: this.#context, url, wait: 'complete' })
  }

  /** The value of an expression, as text. */
  async read(expression: string): Promise<string> {
    const target = { context: this.#context }
    const { result, exceptionDetails } = await this.#send('script.evaluate', {
      ...{ expression: `String(${expression})`, target, awaitPromise: true },
    })
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text)
    return result.value
  }

  /** The keys as a person presses them; those of `held` stay down meanwhile. */
  async press(text: string, held: string[] = []): Promise<void> {
    const keys = (type: string, values: string[]) => values.map((value) => ({ type, value }))
    const strokes = [...text].flatMap((key) => [...keys('keyDown', [key]), ...keys('keyUp', [key])])
    const actions = [...keys('keyDown', held), ...strokes, ...keys('keyUp', held)]
    await this.#send('input.performActions', {
      context: this.#context,
      actions: [{ type: 'key', id: 'keyboard', actions }],
    })
  }

  async close(): Promise<void> {
    this.socket.close()
    this.process.kill('SIGKILL')
    await this.process.exited
  }
}

const control = '\uE009'
const enter = '\uE007'

describe.skipIf(executablePath === undefined)('the console in Firefox', () => {
  let profile: string
  let server: Server
  let organization: Organization
  let page: FirefoxPage
  beforeAll(async () => {
    profile = makeTempDir()
    await buildConsole(join(import.meta.dir, '../dist'))
    server = await startServer()
    organization = await server.createOrganization()
    page = await FirefoxPage.open(executablePath!, profile)
  })
  afterAll(async () => {
    await page?.close()
    await server?.stop()
    removeTempDir(profile)
  })

  const request = async (method: string, path: string, body?: string, type = 'application/json'): Promise<string> => {
    const headers = { authorization: `Bearer ${organization.secretKey}`, 'content-type': type }
    const response = await fetch(server.url + path, { method, headers, body })
    const text = await response.text()
    if (!response.ok) throw new Error(text)
    return text
  }

  test('sign in, find, edit and save by keyboard; the text stays exact, and the browser does not complain', async () => {
    await request('POST', '/v1/app/orders', '{"indices":{"i1":{"hashField":"status"}}}')
    const data = '{"status": "open", "n": 12345678901234567890, "x": 1.0}'
    await request('PUT', '/v1/app/orders', `{"hashKey":"o-1","data":${data}}`)

    await page.goto(`${server.url}/console#/app/orders`)
    // The field of the key has the focus.
    await until(() => page.read('document.activeElement.tagName'), 'INPUT')
    await page.press(organization.secretKey + enter)
    await until(() => page.read("document.querySelector('.grid tbody a')?.textContent"), 'o-1')
    await page.read("document.querySelector('.grid tbody a').click()")
    const editor = "document.querySelector('textarea')"
    const lines = ['{', '  "status": "open",', '  "n": 12345678901234567890,', '  "x": 1.0', '}']
    await until(() => page.read(`${editor}?.value`), lines.join('\n'))
    await page.read(`${editor}.focus(), ${editor}.setSelectionRange(1, 1)`)
    await page.press('"z": 100000000000000000001.50,')
    await page.press('s', [control])
    // Stored in the layout that the record has: one line, with a space after each comma.
    const changed = `{"z": 100000000000000000001.50, ${data.slice(1)}`
    await until(async () => (await request('GET', '/v1/app/orders/o-1')).includes(`"data":${changed}`), true)
    await until(() => page.read("document.body.textContent.includes('Saved, version')"), 'true')
    expect(page.complaints).toEqual([])
  })

  test('Ctrl+K jumps to a task, whose failed runs are retried together; CSV is read and imported', async () => {
    const task = '/v1/app/_tasks/mail'
    await request('PUT', task, '{}')
    await request('POST', `${task}/run`, '{}')
    const [run] = JSON.parse(await request('POST', `${task}/claim`, '{}')).runs
    const failed = JSON.stringify({ lease: run.lease, error: { message: 'no' }, retry: false })
    await request('POST', `${task}/runs/${run.id}/finish`, failed)
    const hasText = (text: string) => page.read(`document.body.textContent.includes(${JSON.stringify(text)})`)
    const click = (label: string) =>
      page.read(`[...document.querySelectorAll('button')].find((each) => each.textContent === '${label}').click()`)
    await page.read("location.hash = '#/'")
    await until(() => hasText('1 failed'), 'true')
    await page.press('k', [control])
    await until(() => page.read("document.activeElement.getAttribute('role')"), 'combobox')
    await page.press('mail')
    await until(() => page.read("document.querySelector('[role=option]').textContent"), 'app / mail task')
    await page.press(enter)
    await until(() => hasText('Retry 1 failed'), 'true')
    await click('Retry 1 failed')
    await until(() => hasText('1 of 1 queued again'), 'true')

    await page.read("location.hash = '#/_import/app/orders'")
    const input = "document.querySelector('input[type=file]')"
    await until(() => page.read(`${input} !== null`), 'true')
    await page.read(`(() => {
      const files = new DataTransfer()
      files.items.add(new File(['id,n\\r\\ncsv-1,"a\\nb"\\r\\n'], 'x.csv'))
      ${input}.files = files.files
      ${input}.dispatchEvent(new Event('change', { bubbles: true }))
    })()`)
    await until(() => page.read("document.querySelector('.csv-preview tbody tr')?.textContent"), '"csv-1""a\\nb"')
    await click('Import')
    await until(() => hasText('Imported: x.csv'), 'true')
    expect(await request('GET', '/v1/app/orders/csv-1')).toContain('"data":{"id":"csv-1","n":"a\\nb"}')
    expect(page.complaints).toEqual([])
  })

  /** Goes to an address by a script of the page, until a document is shown or a file is saved. */
  const follow = async (url: string): Promise<typeof page.opened> => {
    const { shown, saved } = page.opened
    await page.read(`void setTimeout(() => { location.href = '${url}' })`)
    const differences = () => ({ shown: page.opened.shown - shown, saved: page.opened.saved - saved })
    await until(() => differences().shown + differences().saved, 1)
    return differences()
  }

  test('a private SVG is shown as a picture; no script of it runs when the address of the picture is opened', async () => {
    const bucket = '/v1/app/_buckets/hostile'
    await request('POST', bucket)
    const script = `${bucket}/${hostileScript.name}?visibility=public`
    const { url: scriptUrl } = JSON.parse(await request('PUT', script, hostileScript.text, hostileScript.type))
    const svg = hostileSvg('x.svg', scriptUrl)
    await request('PUT', `${bucket}/${svg.name}`, svg.text, svg.type)

    await page.useNewTab()
    await page.goto(`${server.url}/console#/app/_buckets/hostile/f/${svg.name}`)
    await until(() => page.read('document.activeElement.tagName'), 'INPUT')
    await page.read("document.querySelector('input[type=checkbox]').click()")
    await page.press(organization.secretKey + enter)
    // The screen of a file is in a script that is loaded now.
    const picture = "document.querySelector('.file-picture img')"
    await until(() => page.read(`${picture}?.naturalWidth`), '9')
    expect(await page.read('Object.values(sessionStorage).join()')).toContain('svc_')
    expect(page.complaints).toEqual([])

    const opened = await follow(await page.read(`${picture}.src`))
    await page.goto(`${server.url}/console`)
    expect(await page.read("Object.keys(localStorage).filter((key) => key.startsWith('stolen')).join()")).toBe('')
    expect(opened).toEqual({ shown: 0, saved: 1 })
  })
})
