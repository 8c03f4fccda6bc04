import { startContents } from './contents.ts'
import { startCopying } from './copy.ts'
import { all, serverUrl } from './dom.ts'
import { startExamples } from './examples.ts'
import { startHighlighting } from './highlight.ts'
import { startReveal } from './reveal.ts'
import { startScrollers } from './scrollers.ts'
import { startSearch } from './search.ts'
import { startTryIt } from './try-it.ts'

// The page is complete without this script. It adds search, tabs, copying, the current section and the form that sends.

for (const place of all('[data-base]')) place.textContent = serverUrl()
for (const pre of all('[data-setup] pre')) pre.textContent = pre.textContent!.replace(/https?:[^\s"]+/, serverUrl())
document.documentElement.classList.add('scripted')
startExamples()
startTryIt()
startCopying()
startContents()
startSearch()
startReveal()
startHighlighting()
startScrollers()
