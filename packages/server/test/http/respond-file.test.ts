import { expect, test } from 'bun:test'
import type { FileContent } from '../../src/core/files/file-record.ts'
import { respondFile } from '../../src/http/respond-file.ts'
import type { BytesSource } from '../../src/operations/files/bytes-source.ts'

const headersFor = async (contentType: string): Promise<Headers> => {
  const request = new Request('http://localhost/files/x')
  const exchange = { request, requestId: 'x', fileBodyOf: async () => new Blob(['x']) }
  const content: FileContent = {
    ...{ size: 1, contentType, visibility: 'public', sha256: '0'.repeat(64), blob: 'f', metadata: {} },
  } as never
  const file = { name: 'x', content, updatedAtMs: 0 }
  const served = await respondFile(exchange as never, file, {} as BytesSource, { cacheControl: 'no-cache' })
  return served.headers
}

// No request can store such a type, but a backup may come from somebody else. Browsers take the last type of a list, and a page
// without a sandbox would read the key of whoever is signed in to the console.
test('a list of types that begins with that of PDF is served in a sandbox', async () => {
  expect((await headersFor('application/pdf')).get('content-security-policy')).toBeNull()
  for (const type of ['application/pdf;x=1, text/html', 'application/pdf, text/html', 'application/pdf;,text/html']) {
    expect((await headersFor(type)).get('content-security-policy')).toEndWith('; sandbox')
  }
})
