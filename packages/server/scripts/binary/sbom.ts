import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { integrityOf, keyOf } from './lockfile.ts'
import { runtimePackage, type Target } from './targets.ts'

// The contents of the binaries, as CycloneDX 1.6: the packages that the bundler put in, and Bun. `npm sbom` reads the
// dependencies instead: it lists what is installed and not in the binary, and left out `pg` when it was asked for the
// server without its development dependencies. Without a time and a random number, so that the same sources give the same
// file.

interface Component {
  type: 'library' | 'platform'
  'bom-ref': string
  name: string
  version: string
  purl: string
  licenses: object[]
  hashes: { alg: 'SHA-512'; content: string }[]
}

/** https://github.com/package-url: the @ of a scope is encoded, the slash after it is not. */
const purlOf = (name: string, version: string): string => `pkg:npm/${name.replace('@', '%40')}@${version}`

/** An id of SPDX, or an expression of several. */
const licenseOf = (license: string): object =>
  / (OR|AND|WITH) /.test(license) ? { expression: license } : { license: { id: license } }

const componentOf = (type: Component['type'], name: string, version: string, license: string, key: string) => ({
  type,
  'bom-ref': purlOf(name, version),
  name,
  version,
  purl: purlOf(name, version),
  licenses: [licenseOf(license)],
  hashes: [
    {
      alg: 'SHA-512' as const,
      content: Buffer.from(integrityOf(key).slice('sha512-'.length), 'base64').toString('hex'),
    },
  ],
})

/** `packageDirs` are those of the packages in the bundle. */
export const makeSbom = (packageDirs: string[], built: Target[]): object => {
  const libraries = packageDirs.map((dir): Component => {
    const { name, version, license } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'))
    return componentOf('library', name, version, license, keyOf(dir))
  })
  const runtimes = built.map((target): Component => {
    const name = runtimePackage(target)
    return componentOf('platform', name, manifest.dependencies.bun, 'MIT', `node_modules/${name}`)
  })
  const components = [...libraries, ...runtimes].sort((a, b) => (a.purl < b.purl ? -1 : 1))
  const { name, version, license } = manifest
  const ref = purlOf(name, version)
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': ref,
        name: 'cubby',
        version,
        purl: ref,
        licenses: [licenseOf(license)],
      },
    },
    components,
    dependencies: [{ ref, dependsOn: components.map((component) => component['bom-ref']) }],
  }
}
