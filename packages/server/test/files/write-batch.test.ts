import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { type BatchCalls, type BatchFaults, type SmallFile, writeBatch } from '../../src/files/places/write-batch.ts'
import { makeTempDir, removeTempDir } from '../harness.ts'
import { content, filesBelow, openFiles } from './material.ts'

// A batch of small files: each is durable under its name, or leaves nothing behind and says why.

let top: string
let [first, second] = ['', '']
beforeEach(() => {
  top = makeTempDir()
  first = join(top, 'first')
  second = join(top, 'second')
  fs.mkdirSync(first)
  fs.mkdirSync(second)
})
afterEach(() => removeTempDir(top))

const failure = (code: string): Error => Object.assign(new Error(`${code}: it failed`), { code })

/** The calls of a batch as they are made, `name path`. `fails` makes one fail. */
const watchedCalls = (fails: (call: string) => string | undefined = () => undefined) => {
  const paths = new Map<number, string>()
  const made: string[] = []
  const note = (name: keyof BatchCalls, path: string): void => {
    const call = `${name} ${path.slice(top.length + 1)}`
    made.push(call)
    const code = fails(call)
    if (code !== undefined) throw failure(code)
  }
  const pathOf = (descriptor: number): string => paths.get(descriptor)!
  const calls: BatchCalls = {
    isLink: (path) => fs.lstatSync(path).isSymbolicLink(),
    open(path, flags, mode) {
      note('open', path)
      const descriptor = fs.openSync(path, flags, mode)
      paths.set(descriptor, path)
      return descriptor
    },
    write(descriptor, bytes, offset, length) {
      note('write', pathOf(descriptor))
      return fs.writeSync(descriptor, bytes, offset, length)
    },
    truncate(descriptor, length) {
      note('truncate', pathOf(descriptor))
      fs.ftruncateSync(descriptor, length)
    },
    sync(descriptor) {
      note('sync', pathOf(descriptor))
      fs.fsyncSync(descriptor)
    },
    close(descriptor) {
      // One that fails closes nevertheless, as in the kernel.
      fs.closeSync(descriptor)
      note('close', pathOf(descriptor))
    },
    rename(from, to) {
      note('rename', from)
      fs.renameSync(from, to)
    },
    unlink(path) {
      note('unlink', path)
      fs.unlinkSync(path)
    },
  }
  return { calls, made }
}

const file = (name: string, directory = first, bytes = 1_000): SmallFile => ({ directory, name, bytes: content(bytes) })

const five = (): SmallFile[] => [
  file('a'),
  file('b', second),
  file('c'),
  file('d', second, 0),
  file('e', first, 60_000),
]
const pathsOf = (files: SmallFile[]): string[] =>
  files.map(({ directory, name }) => `${directory.slice(top.length + 1)}/${name}`).sort()

/** The faults of these files, beside no directories. */
const writeFiles = (files: SmallFile[], calls?: BatchCalls): BatchFaults['files'] =>
  writeBatch({ files, directories: [] }, calls).files

test('files in two directories, one of them empty: whole, for their owner alone, nothing open', () => {
  const before = process.umask(0)
  try {
    expect(writeFiles(five())).toEqual(Array(5).fill(undefined))
  } finally {
    process.umask(before)
  }
  expect(filesBelow(top)).toEqual(pathsOf(five()))
  for (const { directory, name, bytes } of five()) {
    expect(Buffer.compare(fs.readFileSync(join(directory, name)), bytes)).toBe(0)
    expect(fs.statSync(join(directory, name)).mode & 0o777).toBe(0o600)
  }
  expect(openFiles(top)).toEqual([])
})

test('the order: the bytes of all, the sync of each, its name, and each directory once, after all names in it', () => {
  const { calls, made } = watchedCalls()
  writeFiles(five(), calls)
  const at = (call: string): number => made.indexOf(call)
  const lastWrite = made.findLastIndex((call) => call.startsWith('write'))
  for (const path of pathsOf(five())) {
    const directory = path.slice(0, path.indexOf('/'))
    expect(at(`sync ${path}.part`)).toBeGreaterThan(lastWrite)
    expect(at(`rename ${path}.part`)).toBeGreaterThan(at(`sync ${path}.part`))
    expect(at(`sync ${directory}`)).toBeGreaterThan(at(`rename ${path}.part`))
    // What is closed before the sync is another descriptor: it makes the disk begin.
    expect(made.filter((call) => call === `close ${path}.part`)).toHaveLength(2)
  }
  expect(made.filter((call) => /^sync \w+$/.test(call)).sort()).toEqual(['sync first', 'sync second'])
})

test('one file alone needs no calls that make the disk begin', () => {
  const { calls, made } = watchedCalls()
  expect(writeFiles([file('a')], calls)).toEqual([undefined])
  expect(made).toEqual([
    ...['open first/a.part', 'write first/a.part', 'sync first/a.part', 'close first/a.part', 'rename first/a.part'],
    ...['open first', 'sync first', 'close first'],
  ])
})

describe('a call that fails for one file', () => {
  for (const name of ['open', 'truncate', 'write', 'sync', 'close', 'rename']) {
    test(`${name}: that one is not there, and the others are`, () => {
      const { calls, made } = watchedCalls((call) => (call === `${name} first/c.part` ? 'ENOSPC' : undefined))
      const faults = writeFiles(five(), calls)
      const fault = { code: 'ENOSPC', message: 'ENOSPC: it failed' }
      expect(faults).toEqual([undefined, undefined, fault, undefined, undefined])
      expect(filesBelow(top)).toEqual(pathsOf(five()).filter((path) => path !== 'first/c'))
      expect(openFiles(top)).toEqual([])
      // A failed sync is not repeated: the next one would succeed and prove nothing.
      expect(made.filter((call) => call === 'sync first/c.part').length).toBeLessThanOrEqual(1)
    })
  }
})

for (const name of ['open', 'sync', 'close']) {
  test(`the ${name} of a directory fails: all files in it have failed and are gone, those in another are there`, () => {
    const { calls } = watchedCalls((call) => (call === `${name} first` ? 'EIO' : undefined))
    const faults = writeFiles(five(), calls)
    const fault = { code: 'EIO', message: 'EIO: it failed', kind: 'namesNotSynced' as const }
    expect(faults).toEqual([fault, undefined, fault, undefined, fault])
    expect(filesBelow(top)).toEqual(['second/b', 'second/d'])
    expect(openFiles(top)).toEqual([])
  })
}

test('a directory that is not there is told apart, and a file that is there stays', () => {
  writeFiles([file('a')])
  fs.writeFileSync(join(first, 'c.part'), 'of another')
  const files = [file('x', join(top, 'none')), file('c', first, 5), file('y')]
  expect(writeFiles(files)).toEqual([
    { code: 'ENOENT', message: expect.stringContaining('none'), kind: 'noDirectory' },
    { code: 'EEXIST', message: expect.any(String) },
    undefined,
  ])
  expect(fs.readFileSync(join(first, 'c.part'), 'utf8')).toBe('of another')
  expect(filesBelow(top)).toEqual(['first/a', 'first/c.part', 'first/y'])
})

test('writes that take a part of the bytes are continued; one that takes none ends', () => {
  const { calls } = watchedCalls()
  const some: BatchCalls = {
    ...calls,
    write: (descriptor, bytes, offset, length) =>
      calls.write(descriptor, bytes, offset, Math.min(length, length > 50_000 ? 0 : 99)),
  }
  const [small, large] = writeFiles([file('a'), file('b', first, 60_000)], some)
  expect(small).toBeUndefined()
  expect(Buffer.compare(fs.readFileSync(join(first, 'a')), content(1_000))).toBe(0)
  expect(large!.message).toContain('no byte could be written')
  expect(filesBelow(top)).toEqual(['first/a'])
})

test('directories to sync beside the files: after the names, each once, and each fault to its own', () => {
  const { calls, made } = watchedCalls((call) => (call === 'sync second' ? 'EIO' : undefined))
  const none = join(top, 'none')
  const directories = [first, second, none, second]
  const fault = { code: 'EIO', message: 'EIO: it failed', kind: 'namesNotSynced' as const }
  expect(writeBatch({ files: [file('a'), file('b', second)], directories }, calls)).toEqual({
    files: [undefined, fault],
    directories: [
      ...[undefined, fault],
      { code: 'ENOENT', message: expect.stringContaining('none'), kind: 'namesNotSynced' },
      fault,
    ],
  })
  expect(made.filter((call) => call === 'sync first')).toHaveLength(1)
  expect(made.filter((call) => call === 'sync second')).toHaveLength(1)
  expect(made.indexOf('sync first')).toBeGreaterThan(made.indexOf('rename second/b.part'))
  expect(filesBelow(top)).toEqual(['first/a'])
  expect(openFiles(top)).toEqual([])
})
