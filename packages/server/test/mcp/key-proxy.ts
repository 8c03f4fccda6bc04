/** The conformance suite cannot send an API key. This passes everything on as it came, Host and Origin too, and adds one. */
export const startKeyProxy = (serverUrl: string, key: string) =>
  Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const headers = new Headers(request.headers)
      headers.set('authorization', `Bearer ${key}`)
      const { pathname, search } = new URL(request.url)
      const { method } = request
      const body = method === 'GET' || method === 'HEAD' ? undefined : await request.arrayBuffer()
      return fetch(serverUrl + pathname + search, { method, headers, body, redirect: 'manual' })
    },
  })
