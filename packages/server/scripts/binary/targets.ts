import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const root = resolve(import.meta.dir, '../../../..')

export const targets = [
  'linux-x64',
  'linux-arm64',
  'linux-x64-musl',
  'linux-arm64-musl',
  'darwin-arm64',
  'darwin-x64',
  'windows-x64',
] as const

export type Target = (typeof targets)[number]

/** The npm package with the Bun of a target. */
export const runtimePackage = (target: Target): string => `@oven/bun-${target.replace('arm64', 'aarch64')}`

export const fileNameOf = (target: Target): string => `cubby-${target}${target.startsWith('windows') ? '.exe' : ''}`

export const compileTarget = (target: Target): Bun.Build.CompileTarget => `bun-${target}`

/** That of this machine. npm has installed the Bun for its C library. */
export const ownTarget = (): Target => {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const candidates = targets.filter((target) => target.startsWith(`${platform}-${process.arch}`))
  const isInstalled = (target: Target) => existsSync(join(root, 'node_modules', runtimePackage(target)))
  const own = candidates.find(isInstalled) ?? candidates[0]
  if (own === undefined) throw new Error(`there is no binary for ${platform}-${process.arch}: ${targets.join(', ')}`)
  return own
}
