import { join } from 'node:path'
import { generatedPages, root } from './docs/pages.ts'

// Writes the generated pages and parts of pages in docs/: `npm run docs`. A test compares them with the files.

for (const [path, text] of generatedPages()) {
  const file = Bun.file(join(root, path))
  if ((await file.text()) === text) continue
  await file.write(text)
  console.log(`wrote ${path}`)
}
