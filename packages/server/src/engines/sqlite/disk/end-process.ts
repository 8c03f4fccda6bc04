import { dlopen } from 'bun:ffi'

// Names of the C library: glibc, musl, macOS.
const libraries = [
  'libc.so.6',
  `libc.musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`,
  'libSystem.B.dylib',
]

/**
 * Ends the process at once and leaves the store as it is. `process.exit` would not: Bun closes every SQLite
 * connection on the way out, and the last one to close checkpoints and deletes the WAL. After a failed sync the WAL is
 * the only good copy.
 */
export const endProcess = (exitCode: number): never => {
  for (const library of libraries) {
    try {
      dlopen(library, { _exit: { args: ['i32'], returns: 'void' } }).symbols._exit(exitCode)
    } catch {
      // Not the library of this system.
    }
  }
  // Not the exit code that was wanted, but it closes nothing either.
  process.kill(process.pid, 'SIGKILL')
  for (;;) Bun.sleepSync(1_000)
}
