import * as fs from 'node:fs'

/**
 * The system calls of a directory place, on Bun's thread pool: made on this thread, they blocked it for up to 0.2 s while 64
 * small files were written on a busy disk. An object, so that tests can make a call fail.
 */
export interface FileCalls {
  open(path: string, flags: string | number, mode?: number): Promise<number>
  /** Returns how many bytes were written: perhaps fewer than `length`. */
  write(descriptor: number, bytes: Uint8Array, offset: number, length: number): Promise<number>
  /** Returns how many bytes were read: 0 at the end of the file. */
  read(descriptor: number, into: Uint8Array, offset: number, position: number): Promise<number>
  size(descriptor: number): Promise<number>
  sync(descriptor: number): Promise<void>
  dataSync(descriptor: number): Promise<void>
  close(descriptor: number): Promise<void>
  rename(from: string, to: string): Promise<void>
  link(from: string, to: string): Promise<void>
  unlink(path: string): Promise<void>
  makeDirectory(path: string, mode: number): Promise<void>
  removeDirectory(path: string): Promise<void>
  stat(path: string): Promise<unknown>
  lstat(path: string): Promise<{ size: number; isFile(): boolean; isSymbolicLink(): boolean }>
}

type Callback<T> = (error: NodeJS.ErrnoException | null, result: T) => void

const called = <T>(call: (done: Callback<T>) => void): Promise<T> =>
  new Promise((resolve, reject) => call((error, result) => (error === null ? resolve(result) : reject(error))))

const calledForNothing = (call: (done: (error: NodeJS.ErrnoException | null) => void) => void): Promise<void> =>
  called<void>((done) => call((error) => done(error ?? null)))

export const fileCalls: FileCalls = {
  open: (path, flags, mode) => called((done) => fs.open(path, flags, mode, done)),
  write: (descriptor, bytes, offset, length) =>
    called((done) => fs.write(descriptor, bytes, offset, length, null, done)),
  read: (descriptor, into, offset, position) =>
    called((done) => fs.read(descriptor, into, offset, into.length - offset, position, done)),
  size: async (descriptor) => (await called<fs.Stats>((done) => fs.fstat(descriptor, done))).size,
  sync: (descriptor) => calledForNothing((done) => fs.fsync(descriptor, done)),
  dataSync: (descriptor) => calledForNothing((done) => fs.fdatasync(descriptor, done)),
  close: (descriptor) => calledForNothing((done) => fs.close(descriptor, done)),
  rename: (from, to) => calledForNothing((done) => fs.rename(from, to, done)),
  link: (from, to) => calledForNothing((done) => fs.link(from, to, done)),
  unlink: (path) => calledForNothing((done) => fs.unlink(path, done)),
  makeDirectory: (path, mode) => calledForNothing((done) => fs.mkdir(path, { mode }, done)),
  removeDirectory: (path) => calledForNothing((done) => fs.rmdir(path, done)),
  stat: (path) => called((done) => fs.stat(path, done)),
  lstat: (path) => called((done) => fs.lstat(path, done)),
}

/** Flags to read a file that must be one: a symbolic link is not followed (ELOOP). Windows has no such flag. */
export const readFlags = fs.constants.O_RDONLY | (fs.constants.O_NOFOLLOW ?? 0)

/**
 * A symbolic link was found below the directory of a blob store, where nothing may be one: it leads to files of somebody else.
 */
export class SymbolicLink extends Error {
  constructor(path: string) {
    super(`${path} is a symbolic link`)
  }
}

export const codeOf = (error: unknown): string => (error as { code?: string } | undefined)?.code ?? ''

/** Syncs a directory: the names in it. */
export const syncDirectory = async (calls: FileCalls, path: string): Promise<void> => {
  const descriptor = await calls.open(path, 'r')
  try {
    await calls.sync(descriptor)
  } finally {
    await calls.close(descriptor)
  }
}
