import { Cubby, CubbyError } from './client/index.js'

const find = (selector) => document.querySelector(selector)
const status = find('[role=status]')
const list = find('ul')

const post = async (path, body) => {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
  const { error, ...answer } = await response.json()
  if (response.ok) return answer
  // For the client, an error that a retry cannot fix.
  if (response.status === 401) throw new CubbyError('invalid_token', error, { status: 401 })
  throw new Error(error)
}

// The login token says who the person is, in this tab. The user token is nowhere but in the client.
const logOut = (reason = '') => {
  sessionStorage.clear()
  sessionStorage.setItem('reason', reason)
  location.reload()
}

/** Does what a button is for, and shows why it failed. */
const attempt = async (work) => {
  status.textContent = ''
  try {
    await work()
  } catch (error) {
    if (error.code === 'invalid_token') logOut(error.message)
    else status.textContent = error.message
  }
}

const showNotes = async (name, loginToken) => {
  find('main').hidden = false
  find('#me').textContent = name
  find('#logout').onclick = () => logOut()
  const { url } = await (await fetch('config.json')).json()
  const cubby = new Cubby({ url, token: () => post('token', { loginToken }) })
  // The token allows one hash key of this table. Another one is refused, whatever a script asks for.
  const notes = cubby.db('notes').table('notes')

  /** By range key. `version` and `text` are those of the last time that the box got the text of a record. */
  const rows = new Map()

  const save = async (row, record) => {
    const text = row.box.value
    try {
      const { updatedAt } = await notes.save({ ...record, data: { text } }, { ifMatch: row.version })
      Object.assign(row, { version: updatedAt, text })
    } catch (error) {
      if (error.code !== 'precondition_failed') throw error
      row.version = (await notes.findOne(record))?.updatedAt ?? row.version
      throw new Error('Another window has changed this note. Save again to replace it by your text.')
    }
  }

  const makeRow = (rangeKey) => {
    const item = find('template').content.firstElementChild.cloneNode(true)
    const row = { item, box: item.querySelector('textarea'), version: undefined, text: '' }
    const record = { hashKey: name, rangeKey }
    item.querySelector('.save').onclick = () => attempt(() => save(row, record))
    item.querySelector('.delete').onclick = () => attempt(() => notes.remove(record))
    rows.set(rangeKey, row)
    return row
  }

  const onChange = (items, { removed }) => {
    for (const { rangeKey } of removed) {
      rows.get(rangeKey).item.remove()
      rows.delete(rangeKey)
    }
    for (const [i, { rangeKey, data, updatedAt }] of items.entries()) {
      const row = rows.get(rangeKey) ?? makeRow(rangeKey)
      // What somebody is typing here stays.
      if (row.box.value === row.text) {
        row.box.value = data.text
        Object.assign(row, { version: updatedAt, text: row.box.value })
      }
      if (list.children[i] !== row.item) list.insertBefore(row.item, list.children[i] ?? null)
    }
  }

  find('#add').onsubmit = (event) => {
    event.preventDefault()
    const { text } = event.target.elements
    attempt(async () => {
      // Range keys begin with the time, so that the newest note is the first.
      const rangeKey = `${new Date().toISOString()} ${crypto.randomUUID()}`
      await notes.save({ hashKey: name, rangeKey, data: { text: text.value } }, { ifAbsent: true })
      text.value = ''
    })
  }
  // Nothing is shown after a write: it comes back as it comes to the other windows.
  await attempt(() => notes.watch({ hash: name, ascending: false, limit: 100 }, { onChange }))
}

const form = find('#login')
form.onsubmit = (event) => {
  event.preventDefault()
  const name = form.elements.name.value
  attempt(async () => {
    const { loginToken } = await post('login', { name })
    sessionStorage.setItem('login', JSON.stringify([name, loginToken]))
    form.hidden = true
    await showNotes(name, loginToken)
  })
}
status.textContent = sessionStorage.getItem('reason') ?? ''
const login = JSON.parse(sessionStorage.getItem('login'))
if (login) await showNotes(...login)
else form.hidden = false
