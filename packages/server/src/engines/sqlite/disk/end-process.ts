import { dlopen } from 'bun:ffi'

// Names of the C library: glibc, musl, macOS.
const libraries = [
  'libc.so.6',
  `libc.musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`,
  'libSystem.B.dylib',
]

/**
 * Ends the process at once and leaves the store as it is. `process.exit` does not: Bun then closes every SQLite
 * connection, and the last one to close checkpoints and deletes the WAL. After a failed sync the WAL is the only good
 * copy.
 */
export const endProcess = (exitCode: number): never => {
  for (const library of libraries) {
    try {
      dlopen(library, { _exit: { args: ['i32'], returns: 'void' } }).symbols._exit(exitCode)
    } catch {
      // This system has another C library.
    }
  }
  // The exit code is another one, but this closes nothing either.
  process.kill(process.pid, 'SIGKILL')
  for (;;) Bun.sleepSync(1_000)
}
