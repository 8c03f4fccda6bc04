import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

const source = join(import.meta.dir, '../src')

const importsOf = (file: string): string[] =>
  Array.from(readFileSync(join(source, file), 'utf8').matchAll(/\bfrom '(\.[^']+)'/g), ([, name]) =>
    relative(source, resolve(source, dirname(file), name!)),
  )

const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))

// Two files that import each other can only be read, tested or moved together. That includes imports of types.
test('no file of the client imports itself through others', () => {
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (file: string, path: string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' → '))
    if (done.has(file)) return
    done.add(file)
    for (const imported of importsOf(file)) visit(imported, [...path, file])
  }
  for (const file of files) visit(file, [])
  expect(done.size).toBe(files.length)
  expect(circles).toEqual([])
})

test('transport imports no area', () => {
  const outside = files
    .filter((file) => file.startsWith('transport/'))
    .flatMap((file) => importsOf(file).map((imported) => `${file} → ${imported}`))
    .filter((pair) => !pair.includes('→ transport/'))
  expect(outside).toEqual([])
})
