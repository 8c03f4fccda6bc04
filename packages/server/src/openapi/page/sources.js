// The texts of the style and of the modules of the script. This file is JavaScript because TypeScript reads an import of a
// `.ts` file as a module, whatever its attributes say, and would then check the script without the types of a browser.

import contents from './browser/contents.ts' with { type: 'text' }
import copy from './browser/copy.ts' with { type: 'text' }
import dom from './browser/dom.ts' with { type: 'text' }
import examples from './browser/examples.ts' with { type: 'text' }
import highlight from './browser/highlight.ts' with { type: 'text' }
import jsonLayout from './browser/json-layout.ts' with { type: 'text' }
import main from './browser/main.ts' with { type: 'text' }
import reveal from './browser/reveal.ts' with { type: 'text' }
import scrollers from './browser/scrollers.ts' with { type: 'text' }
import search from './browser/search.ts' with { type: 'text' }
import searchIndex from './browser/search-index.ts' with { type: 'text' }
import send from './browser/send.ts' with { type: 'text' }
import tryIt from './browser/try-it.ts' with { type: 'text' }
import tryItResponse from './browser/try-it-response.ts' with { type: 'text' }
import style from './style.css' with { type: 'text' }

export { style }

/** The scripts by their names in `browser`. */
export const scriptSources = {
  'contents.ts': contents,
  'copy.ts': copy,
  'dom.ts': dom,
  'examples.ts': examples,
  'highlight.ts': highlight,
  'json-layout.ts': jsonLayout,
  'main.ts': main,
  'reveal.ts': reveal,
  'scrollers.ts': scrollers,
  'search.ts': search,
  'search-index.ts': searchIndex,
  'send.ts': send,
  'try-it.ts': tryIt,
  'try-it-response.ts': tryItResponse,
}
