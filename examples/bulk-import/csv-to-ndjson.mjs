// Reads CSV from standard input and writes lines for `cubby import` to standard output, as a stream of any size.

const db = 'weather'
const table = 'readings'
const indices = { i1: { hashField: 'region', rangeField: 'celsius' } }
const numbers = new Set(['celsius'])

/** Rows of cells. A quoted cell may contain commas and line feeds; a quote in it is written twice. */
async function* readRows(chunks) {
  let row = []
  let cell = ''
  let quoted = false
  let quoteSeen = false
  for await (const chunk of chunks) {
    for (const character of chunk) {
      if (quoted) {
        if (quoteSeen && character === '"') cell += '"'
        else if (quoteSeen) quoted = false
        else if (character !== '"') cell += character
        quoteSeen = !quoteSeen && character === '"'
        if (quoted) continue
      }
      if (character === '"' && cell === '') quoted = true
      else if (character === ',' || character === '\n') {
        row.push(cell)
        cell = ''
        if (character === ',') continue
        yield row
        row = []
      } else if (character !== '\r') cell += character
    }
  }
  if (cell !== '' || row.length > 0) yield [...row, cell]
}

const toLine = (names, cells) => {
  const data = {}
  names.forEach((name, i) => {
    // Leave empty cells out: an empty string is not a number, and a record without the field is simply not in the index.
    if (cells[i]) data[name] = numbers.has(name) ? Number(cells[i]) : cells[i]
  })
  return JSON.stringify({ db, table, hashKey: data.station, rangeKey: data.at, data })
}

process.stdout.write(`${JSON.stringify({ db, table, indices })}\n`)
let names
for await (const cells of readRows(process.stdin.setEncoding('utf8'))) {
  if (names === undefined) names = cells
  else if (!process.stdout.write(`${toLine(names, cells)}\n`)) {
    await new Promise((resolve) => process.stdout.once('drain', resolve))
  }
}
