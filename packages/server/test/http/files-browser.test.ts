import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { chromiumFlags, findChromium } from '../../../client/test/chromium.ts'
import { eventually, type Json, type Server, startServer } from '../harness.ts'
import { makeBucket, type TestBucket } from './bucket.ts'
import { ok } from './service.ts'

// Files as a browser sees them that opens their URLs. What would go wrong without it: an uploaded page that runs its scripts
// with the rights of everything else at this address, or a picture that nobody sees because the headers are too strict.

setDefaultTimeout(120_000)

const executablePath = findChromium('files in a browser', true)

/** A PDF of one page that is all red. */
const redPdf = (): string => {
  const stream = '1 0 0 rg 0 0 300 300 re f'
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R /Resources << >> >>',
    `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
  ]
  let text = '%PDF-1.4\n'
  const offsets = objects.map((object, i) => {
    const at = text.length
    text += `${i + 1} 0 obj\n${object}\nendobj\n`
    return at
  })
  const rows = offsets.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('')
  const size = objects.length + 1
  return `${text}xref\n0 ${size}\n0000000000 65535 f \n${rows}trailer << /Size ${size} /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF\n`
}

/** Two seconds of a tone, 8 bits, 8 kHz. */
const tone = (): Buffer => {
  const samples = Buffer.from(Array.from({ length: 16_000 }, (_, i) => 128 + Math.round(60 * Math.sin(i / 3))))
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + samples.length, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(8_000, 24)
  head.writeUInt32LE(8_000, 28)
  head.writeUInt16LE(1, 32)
  head.writeUInt16LE(8, 34)
  head.write('data', 36)
  head.writeUInt32LE(samples.length, 40)
  return Buffer.concat([head, samples])
}

describe.skipIf(executablePath === undefined)('files in a browser', () => {
  let server: Server
  let bucket: TestBucket
  let browser: Browser
  let context: BrowserContext
  /** A site of another origin. Scripts that run anywhere tell it. */
  let site: Bun.Server<undefined>
  let ran: string[] = []
  /** A page that reads pictures of other pages. */
  let reader: Page

  beforeAll(async () => {
    server = await startServer({ shared: true })
    const { secretKey } = await server.createOrganization()
    bucket = await makeBucket(server.as(secretKey))
    site = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch(request) {
        const { pathname } = new URL(request.url)
        if (pathname.startsWith('/ran/')) ran.push(pathname)
        const headers = { 'content-type': 'text/html', 'access-control-allow-origin': '*' }
        return new Response('<!doctype html><title>site</title>', { headers })
      },
    })
    browser = await chromium.launch({
      executablePath,
      args: [...chromiumFlags, '--autoplay-policy=no-user-gesture-required'],
    })
    context = await browser.newContext({ viewport: { width: 400, height: 400 }, acceptDownloads: true })
    reader = await visit()
  })

  afterAll(async () => {
    await browser?.close()
    await site?.stop(true)
    await server?.stop()
  })

  const put = (name: string, bytes: string | Uint8Array, contentType: string): Promise<Json> =>
    bucket.put(name, bytes, { query: { visibility: 'public' }, headers: { 'content-type': contentType } })

  /** A page of the other origin. */
  const visit = async (): Promise<Page> => {
    const page = await context.newPage()
    await page.goto(site.url.href)
    return page
  }

  /** The colour in the middle of what the page shows. */
  const middleOf = async (page: Page): Promise<number[]> => {
    const shot = (await page.screenshot()).toString('base64')
    const pixel = (await reader.evaluate(`(async () => {
      const bitmap = await createImageBitmap(await (await fetch('data:image/png;base64,${shot}')).blob())
      const drawing = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d')
      drawing.drawImage(bitmap, 0, 0)
      return [...drawing.getImageData(bitmap.width / 2, bitmap.height / 2, 1, 1).data]
    })()`)) as number[]
    return pixel.slice(0, 3)
  }

  const script = (name: string): string =>
    `new Image().src='${site.url}ran/${name}'; fetch('${site.url}ran/${name}'); document.title='ran'`

  /** Opens a URL; whether the browser saved it instead of showing it. */
  const open = async (page: Page, url: string): Promise<boolean> => {
    let saved = false
    const onDownload = () => {
      saved = true
    }
    page.on('download', onDownload)
    try {
      await page.goto(url)
      await page.waitForTimeout(100)
    } catch (error) {
      const { message } = error as Error
      if (!message.includes('Download is starting') && !message.includes('ERR_ABORTED')) throw error
      await eventually('the download', () => saved || undefined)
    }
    page.off('download', onDownload)
    return saved
  }

  /** The page behaves as if the server had not said "attachment": the other headers alone must prevent this. */
  const withoutDisposition = async (page: Page): Promise<void> => {
    await page.route('**/files/**', async (route) => {
      const response = await route.fetch()
      const { 'content-disposition': _, ...headers } = response.headers()
      await route.fulfill({ response, headers })
    })
  }

  test('an uploaded HTML or SVG runs no script: it is saved, and even when shown it cannot', async () => {
    ran = []
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="400" height="400" onload="${script('svg-onload')}"><rect width="400" height="400" fill="#00f"/><script>${script('svg')}</script></svg>`
    const html = `<!doctype html><title>quiet</title><body style="background:#0f0" onload="${script('onload')}"><script>${script('html')}</script><img src=x onerror="${script('onerror')}"><a href="javascript:${script('href')}">x</a>`
    const files = [
      await put('evil.html', html, 'text/html'),
      await put('evil.svg', svg, 'image/svg+xml'),
      await put('evil.xhtml', svg, 'application/xhtml+xml'),
    ]
    const [plain, shown] = [await context.newPage(), await context.newPage()]
    await withoutDisposition(shown)
    for (const { url } of files) {
      expect([url, await open(plain, url), await plain.title()]).toEqual([url, true, ''])
      expect([url, await open(shown, url)]).toEqual([url, false])
      expect(await shown.title()).not.toBe('ran')
      // It is really shown: in the colour of the document.
      expect(await middleOf(shown)).toEqual(url.endsWith('html') && !url.endsWith('xhtml') ? [0, 255, 0] : [0, 0, 255])
    }
    await shown.close()
    // HTML that calls itself something else is not taken for HTML.
    for (const type of ['text/plain', 'image/png', 'application/pdf']) {
      const { url } = await put('disguised.html', html, type)
      await open(plain, url)
      expect([type, await plain.title()]).not.toEqual([type, 'ran'])
    }
    await plain.close()
    // Nor inside a page of another origin, or of this one.
    const page = await visit()
    await page.setContent(
      files
        .map(({ url }) => `<iframe src="${url}"></iframe><object data="${url}"></object><embed src="${url}">`)
        .join(''),
    )
    await page.waitForTimeout(300)
    await page.close()
    expect(ran).toEqual([])
    // The scripts work where they may run: otherwise this test would notice nothing.
    const own = await context.newPage()
    await own.route('**/unsafe', (route) => route.fulfill({ contentType: 'text/html', body: html }))
    await own.goto(`${site.url}unsafe`)
    await eventually('both scripts', () => (ran.includes('/ran/html') && ran.includes('/ran/onload')) || undefined)
    await own.close()
  })

  test('an SVG and a picture show in <img> on a page of another origin, and the SVG runs no script there', async () => {
    ran = []
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="400" height="400"><style>rect { fill: #00f }</style><rect width="400" height="400"/><script>${script('img')}</script></svg>`
    const { url } = await put('icon.svg', svg, 'image/svg+xml')
    const page = await visit()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    await page.setContent(`<body style="margin:0"><img src="${url}">`)
    await page.waitForFunction(`document.querySelector('img').naturalWidth === 400`)
    expect(await middleOf(page)).toEqual([0, 0, 255])
    expect([ran, complaints]).toEqual([[], []])
    await page.close()
  })

  test('a PDF is drawn when its URL is opened', async () => {
    const { url } = await put('red.pdf', redPdf(), 'application/pdf')
    const page = await context.newPage()
    expect(await open(page, url)).toBe(false)
    let middle: number[] = []
    for (let i = 0; i < 150 && middle.join() !== '255,0,0'; i++) {
      await page.waitForTimeout(200)
      middle = await middleOf(page)
    }
    expect(middle).toEqual([255, 0, 0])
    await page.close()
  })

  /** Waits until the page says so. In a sandbox no timer and no event of the page runs, so the test asks again and again. */
  const until = async (page: Page, holds: string): Promise<boolean> => {
    for (let i = 0; i < 600; i++) {
      if (await page.evaluate(holds)) return true
      await page.waitForTimeout(50)
    }
    return false
  }

  /** Plays what the browser made of the URL, and jumps in it. */
  const play = async (url: string): Promise<{ saved: boolean; played: boolean; sought: boolean }> => {
    const page = await context.newPage()
    const saved = await open(page, url)
    const media = `document.querySelector('video, audio')`
    await page.evaluate(`${media}.muted = true; ${media}.loop = true; ${media}.play(); 0`)
    const played = await until(page, `${media}.currentTime > 0`)
    await page.evaluate(`${media}.pause(); ${media}.currentTime = 0.5`)
    const sought = await until(page, `!${media}.seeking && Math.abs(${media}.currentTime - 0.5) < 0.01`)
    await page.close()
    return { saved, played, sought }
  }

  test('audio plays when its URL is opened', async () => {
    const { url } = await put('tone.wav', tone(), 'audio/wav')
    expect(await play(url)).toEqual({ saved: false, played: true, sought: true })
  })

  test('a signed upload works from a page of another origin; the video plays when its URL is opened', async () => {
    const request = { name: 'film.webm', method: 'PUT', visibility: 'public', contentType: 'video/webm' }
    const { url } = ok(await bucket.api.post(`${bucket.path}/url`, request))
    const page = await visit()
    const answer = (await page.evaluate(`(async () => {
      const wait = (ms) => new Promise((later) => setTimeout(later, ms))
      const canvas = document.createElement('canvas')
      canvas.width = canvas.height = 64
      const drawing = canvas.getContext('2d')
      const recorder = new MediaRecorder(canvas.captureStream(25), { mimeType: 'video/webm;codecs=vp8' })
      const pieces = []
      recorder.ondataavailable = ({ data }) => pieces.push(data)
      recorder.start()
      for (let i = 0; i < 30; i++) {
        drawing.fillStyle = 'hsl(' + i * 12 + ' 100% 50%)'
        drawing.fillRect(0, 0, 64, 64)
        await wait(40)
      }
      await new Promise((later) => {
        recorder.onstop = later
        recorder.stop()
      })
      const response = await fetch('${url}', { method: 'PUT', body: new Blob(pieces, { type: 'video/webm' }) })
      return { status: response.status, etag: response.headers.get('etag'), record: await response.json() }
    })()`)) as Json
    await page.close()
    expect(answer).toMatchObject({ status: 200, record: { name: 'film.webm', contentType: 'video/webm' } })
    expect(answer.etag).toBe(`"${answer.record.updatedAt}"`)
    expect(answer.record.size).toBeGreaterThan(500)
    expect(await play(answer.record.url)).toEqual({ saved: false, played: true, sought: true })
  })
})
