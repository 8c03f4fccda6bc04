import { CubbyError } from '../core/errors.ts'
import { lostPathHint } from './mistake-hints.ts'
import { pathOf } from './observe.ts'
import { type ConsolePages, respondPage } from './pages.ts'
import type { Handler, Pipeline } from './pipeline.ts'
import { respondRedirect } from './respond.ts'

// The console: a page for people, and the files that it loads. It is a client like any other, so this is all that the server
// has for it.

export const consolePath = '/console'

/** Operations for the log and the metrics. */
export const consoleOperations = ['getConsole', 'getConsoleFile'] as const
const [pageOperation, fileOperation] = consoleOperations

export const consoleHandlers = (pipeline: Pipeline, pages: ConsolePages): Record<string, Handler> => {
  const [folder, file] = [`${consolePath}/`, `${consolePath}/:name`]
  return {
    [consolePath]: pipeline.open(consolePath, pageOperation, async (id, request) =>
      respondPage(id, request, await pages.page()),
    ),
    // The URLs in the page are relative to its address without the slash.
    [folder]: pipeline.open(folder, pageOperation, (id) => respondRedirect(id, `..${consolePath}`)),
    [file]: pipeline.open(file, fileOperation, async (id, request) => {
      const found = await pages.file(request.params.name!)
      if (found !== undefined) return respondPage(id, request, found)
      const hint = lostPathHint(request.method, pathOf(request.url))
      throw new CubbyError('route_not_found', 'No route has this path.', { hint })
    }),
  }
}
