import { baseUrl } from '../api/request.ts'
import { CopyButton } from '../ui/copy-button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Code } from '../ui/json-view.tsx'

// The first requests of a program, with this server's address. The key comes from the reader's own environment.

const curl = `export CUBBY_KEY=svc_live_…
curl -X POST '${baseUrl}/v1/app/notes' -H "Authorization: Bearer $CUBBY_KEY"
curl -X PUT '${baseUrl}/v1/app/notes' -H "Authorization: Bearer $CUBBY_KEY" \\
  -H 'Content-Type: application/json' -d '{"hashKey":"first","data":{"text":"hello"}}'
curl '${baseUrl}/v1/app/notes/first' -H "Authorization: Bearer $CUBBY_KEY"`

const typescript = `import { Cubby } from '@cubbydb/client'

const cubby = new Cubby({ url: '${baseUrl}', key: process.env.CUBBY_KEY! })
const app = cubby.db('app')
await app.tables.create('notes')
await app.table('notes').save({ hashKey: 'first', data: { text: 'hello' } })
console.log(await app.table('notes').findOne('first'))`

const agents = `{ "mcpServers": { "cubby": {
  "type": "http",
  "url": "${baseUrl}/mcp",
  "headers": { "Authorization": "Bearer svc_live_…" } } } }`

const forms = [
  ['curl', curl],
  ['TypeScript', typescript],
  ['Agents (MCP)', agents],
] as const

export const Connect = ({ onClose }: { onClose: () => void }) => (
  <Dialog title="Connect from code" isWide onClose={onClose}>
    <div class="stack">
      <p>
        Programs send an API key with each request. Create one under <a href="#/_keys">Keys</a>, and put it where the
        examples say <code>svc_live_…</code> or <code>CUBBY_KEY</code>.
      </p>
      {forms.map(([name, text]) => (
        <section class="section" key={name}>
          <div class="section-head">
            <h3>{name}</h3>
            <CopyButton class="link" what={`the example for ${name}`} text={() => text} />
          </div>
          <Code label={`Example for ${name}`}>{text}</Code>
        </section>
      ))}
    </div>
  </Dialog>
)
