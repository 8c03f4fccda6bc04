// The floor of HTTP: a bare Bun.serve that reads the Authorization header and the body and sends the bytes that Cubby
// sent, headers included. It does nothing else, so no server on this runtime can be faster.
// `bun http.ts ANSWERS.json`.

export interface ApiResponse {
  method: string
  /** A path of Bun's router. */
  path: string
  headers: Record<string, string>
  body: string
}

if (import.meta.main) {
  const answers = JSON.parse(await Bun.file(process.argv[2]!).text()) as ApiResponse[]
  process.stdin.on('end', () => process.exit(0)).resume()

  const handlerOf = ({ method, headers: members, body }: ApiResponse) => {
    // Copying a Headers instance is faster than reading an object.
    const headers = new Headers(members)
    const answer = (request: Request) =>
      request.headers.get('authorization') === null
        ? new Response(null, { status: 401 })
        : new Response(body, { headers })
    if (method === 'GET') return answer
    return async (request: Request) =>
      (await request.text()).length === 0 ? new Response(null, { status: 400 }) : answer(request)
  }
  const routes: Record<string, Record<string, (request: Request) => Response | Promise<Response>>> = {}
  for (const answer of answers) routes[answer.path] = { ...routes[answer.path], [answer.method]: handlerOf(answer) }

  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, routes, fetch: () => new Response(null, { status: 404 }) })
  process.stderr.write(`${JSON.stringify({ message: 'listening', url: server.url.origin })}\n`)
}
