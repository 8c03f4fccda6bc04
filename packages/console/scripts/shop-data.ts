import type { Browser } from 'playwright-core'
import { orderData, people } from '../src/screens/sample/shop.ts'
import { compactJson } from '../src/text/format.ts'

// Data that looks like that of a real shop.

export type Send = (
  method: string,
  path: string,
  body?: string | Uint8Array<ArrayBuffer>,
  headers?: Record<string, string>,
) => Promise<unknown>

const hourMs = 3_600_000
const orderCount = 900

const order = (index: number, nowMs: number): string => {
  const ttl = index % 13 === 0 ? `,"ttl":${Math.floor(nowMs / 1000) + 30 * 86_400}` : ''
  // Clients write records on one line.
  const data = compactJson(orderData(index, nowMs - index * 0.7 * hourMs))
  return `{"op":"put","hashKey":"ord_${1000 + orderCount - index}","data":${data}${ttl}}`
}

const putOrders = async (send: Send, nowMs: number): Promise<void> => {
  const all = Array.from({ length: orderCount }, (_, index) => order(orderCount - 1 - index, nowMs))
  for (let from = 0; from < all.length; from += 25) {
    await send('POST', '/v1/shop/orders/batch', `{"operations":[${all.slice(from, from + 25).join(',')}]}`)
  }
}

/** Portraits without a person: two coloured fields with a letter. */
const putAvatars = async (send: Send, browser: Browser): Promise<void> => {
  const page = await browser.newPage({ viewport: { width: 128, height: 128 } })
  for (const [index, name] of people.entries()) {
    const hue = index * 36
    await page.setContent(`<body style="margin:0;font:600 64px/128px sans-serif;text-align:center;color:#fff;
      background:linear-gradient(135deg,hsl(${hue} 45% 45%),hsl(${hue + 40} 45% 30%))">${name[0]!.toUpperCase()}`)
    await send('PUT', `/v1/shop/_buckets/avatars/${name}.png`, new Uint8Array(await page.screenshot()), {
      'content-type': 'image/png',
    })
  }
  await page.close()
  const invoice = `Invoice 2026-1184\n${'line\n'.repeat(400)}`
  for (const name of ['legal/terms.txt', 'legal/2025/terms.txt', 'exports/people.txt'])
    await send('PUT', `/v1/shop/_buckets/avatars/${name}`, invoice, { 'content-type': 'text/plain' })
}

const addRuns = async (send: Send): Promise<void> => {
  await send('PUT', '/v1/shop/_tasks/send-mail', '{}')
  await send('PUT', '/v1/shop/_tasks/nightly-report', '{"schedule":{"cron":"0 6 * * mon-fri","timezone":"UTC"}}')
  for (let run = 0; run < 40; run++) {
    const payload = `{"to":"${people[run % people.length]}@example.com","order":"ord_${1860 + run}"}`
    await send('POST', '/v1/shop/_tasks/send-mail/run', `{"payload":${payload}}`)
  }
  // Nothing answers there: its pushes fail, and its runs wait for the next attempt.
  await send('PUT', '/v1/shop/_tasks/notify-warehouse', '{"url":"https://warehouse.invalid/hook","backoffSeconds":600}')
  for (let run = 0; run < 3; run++) await send('POST', '/v1/shop/_tasks/notify-warehouse/run', '{}')
  const { runs } = (await send('POST', '/v1/shop/_tasks/send-mail/claim', '{"limit":34,"leaseSeconds":600}')) as {
    runs: { id: string; lease: string }[]
  }
  for (const [index, { id, lease }] of runs.slice(0, 31).entries()) {
    const outcome =
      index % 10 === 9
        ? '"error":{"message":"550 mailbox unavailable"},"retry":false'
        : `"result":{"messageId":"<${index}@mail.example.com>"}`
    await send('POST', `/v1/shop/_tasks/send-mail/runs/${id}/finish`, `{"lease":"${lease}",${outcome}}`)
  }
}

export const fillShop = async (send: Send, browser: Browser): Promise<void> => {
  await send(
    'POST',
    '/v1/shop/orders',
    '{"indices":{"i1":{"hashField":"status","rangeField":"createdAt"},"i2":{"hashField":"user","rangeField":"createdAt"}},"changes":{}}',
  )
  await send('POST', '/v1/shop/customers', '{"indices":{"i1":{"hashField":"country"}}}')
  for (const table of ['carts', 'drafts', 'old-orders']) await send('POST', `/v1/shop/${table}`)
  await send('DELETE', '/v1/shop/old-orders')
  for (const table of ['events', 'daily']) await send('POST', `/v1/analytics/${table}`)
  await send('POST', '/v1/shop/_buckets/avatars')
  await putOrders(send, Date.now())
  await putAvatars(send, browser)
  await addRuns(send)
  await send('POST', '/api/keys', '{"kind":"public","name":"website","databases":["shop"]}')
  await send('POST', '/api/keys', '{"kind":"secret","name":"mail worker"}')
  const old = (await send('POST', '/api/keys', '{"kind":"secret","name":"old laptop"}')) as { id: string }
  await send('DELETE', `/api/keys/${old.id}`)
}
