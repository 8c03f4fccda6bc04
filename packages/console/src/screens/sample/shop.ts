// A small shop: made the same way each time, only its times are recent. Written as text, as every record of the console.

export const sampleDatabase = 'cubby-sample'

export const sampleTables = {
  orders: { i1: { hashField: 'status', rangeField: 'createdAt' }, i2: { hashField: 'user', rangeField: 'createdAt' } },
  customers: { i1: { hashField: 'country' } },
}

export const people = ['ada', 'li.wei', 'sam', 'noor', 'ines', 'tomas', 'yuki', 'amara', 'leo', 'frida']
const countries = ['de', 'cn', 'us', 'pk', 'pt', 'cz', 'jp', 'ng', 'br', 'se']
const statuses = ['open', 'paid', 'shipped', 'paid', 'shipped', 'cancelled']
const goods = ['A-1029', 'B-0007', 'C-4410', 'D-0815', 'E-2718']
const hourMs = 3_600_000
const orderCount = 100

const customer = (name: string, index: number): string =>
  `{"op":"put","hashKey":"${name}@example.com","data":{
  "name": "${name}",
  "country": "${countries[index]}",
  "since": ${2019 + (index % 7)},
  "newsletter": ${index % 3 !== 0}
}}`

/** The data of an order that was made at `atMs`; `index` decides the rest. */
export const orderData = (index: number, atMs: number): string => {
  const at = new Date(atMs).toISOString().replace(/\.\d+Z$/, 'Z')
  const total = ((index * 1731) % 40_000) / 100 + 4.5
  return `{
  "status": "${statuses[index % statuses.length]}",
  "user": "${people[(index * 7) % people.length]}@example.com",
  "createdAt": "${at}",
  "total": ${total.toFixed(2)},
  "externalId": 123456789012345678${10 + (index % 90)},
  "gift": ${index % 9 === 0},
  "note": ${index % 11 === 0 ? '"leave it at the door"' : 'null'},
  "lines": [
    { "sku": "${goods[index % goods.length]}", "count": ${1 + (index % 3)} },
    { "sku": "${goods[(index + 2) % goods.length]}", "count": 1 }
  ]
}`
}

const order = (index: number, nowMs: number): string =>
  `{"op":"put","hashKey":"ord_${1000 + orderCount - index}","data":${orderData(index, nowMs - index * 5 * hourMs)}}`

/** The operations of batches, by table. Oldest first, so that the newest record is also the one written last. */
export const sampleOperations = (nowMs: number): Record<keyof typeof sampleTables, string[]> => ({
  customers: people.map(customer),
  orders: Array.from({ length: orderCount }, (_, index) => order(orderCount - 1 - index, nowMs)),
})
