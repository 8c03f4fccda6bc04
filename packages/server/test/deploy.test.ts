import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileNameOf, targets } from '../scripts/binary/targets.ts'
import { environmentName } from '../src/cli/arguments.ts'
import { commands } from '../src/cli/run.ts'
import { stopMsMax } from '../src/core/limits.ts'
import { type Json, makeTempDir, removeTempDir } from './harness.ts'

// Nobody runs these files here: where the tests run, there is no Docker. So a misspelt variable, a flag that was renamed or a
// lost line of hardening would be found by the first operator. What they say is compared with what the program has.

setDefaultTimeout(60_000)

const root = resolve(import.meta.dir, '../../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const serveFlags = commands.find(({ name }) => name === 'serve')!.flags
const serveVariables = Object.keys(serveFlags).map(environmentName)

/** `15s`, or seconds without a unit. */
const secondsOf = (text: string): number => Number(/^(\d+)s?$/.exec(text)![1])

/** The command exists, and so do its flags. */
const expectCommand = (words: string[]): void => {
  const [program, name, ...rest] = words
  expect(program).toBe('/usr/local/bin/cubby')
  const command = commands.find((candidate) => candidate.name === name)!
  expect([name, command !== undefined]).toEqual([name, true])
  const flags = rest.filter((word) => word.startsWith('--')).map((word) => word.slice(2))
  expect(flags.filter((flag) => !(flag in command.flags))).toEqual([])
}

// ── The image ──────────────────────────────────────────────────────────────────────────────────────────────

interface Instruction {
  name: string
  text: string
}

const instructions: Instruction[] = read('Dockerfile')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => line.trim() !== '')
  .map((line) => /^([A-Z]+)\s+(.*)$/.exec(line)!)
  .map(([, name, text]) => ({ name: name!, text: text! }))

describe('Dockerfile', () => {
  const stages = instructions.reduce<Instruction[][]>((all, instruction) => {
    if (instruction.name === 'FROM') all.push([])
    all.at(-1)!.push(instruction)
    return all
  }, [])
  const [build, image] = stages as [Instruction[], Instruction[]]
  const all = (name: string): string[] => image.filter((one) => one.name === name).map(({ text }) => text)
  const only = (name: string): string => {
    const [text, ...more] = all(name)
    expect([name, more]).toEqual([name, []])
    return text!
  }

  test('has two stages of known instructions', () => {
    expect(stages).toHaveLength(2)
    const known = 'FROM WORKDIR COPY RUN ARG ENV USER VOLUME EXPOSE STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD'.split(' ')
    expect(instructions.filter(({ name }) => !known.includes(name))).toEqual([])
  })

  test('the bases have a tag that names their release', () => {
    expect(build[0]!.text).toMatch(/^--platform=\$BUILDPLATFORM node:\d+-[a-z]+-slim AS build$/)
    expect(image[0]!.text).toMatch(/^gcr\.io\/distroless\/base-nossl-debian\d+:nonroot$/)
  })

  test('the image has no shell, so it runs nothing while it is built and all its commands are lists of words', () => {
    expect(all('RUN')).toEqual([])
    const entry = JSON.parse(only('ENTRYPOINT'))
    expectCommand([...entry, ...JSON.parse(only('CMD'))])
    const check = /^((?:--\S+ )+)CMD (\[.*\])$/.exec(only('HEALTHCHECK'))!
    expectCommand(JSON.parse(check[2]!))
    // Docker ends a check that takes longer, without its line.
    const timeoutMs = Number(commands.find(({ name }) => name === 'health')!.flags.timeout!.default)
    expect(secondsOf(/--timeout=(\S+)/.exec(check[1]!)![1]!) * 1_000).toBeGreaterThan(timeoutMs)
  })

  test('runs as a user without rights, who owns /data', () => {
    expect(only('USER')).toBe('65532:65532')
    expect(only('VOLUME')).toBe('/data')
    expect(all('COPY')).toContain('--from=build --chown=65532:65532 --chmod=0700 /out/data /data')
  })

  test('its variables are flags of serve, with the port that it names', () => {
    const variables = only('ENV')
      .split(' ')
      .map((word) => word.split('=') as [string, string])
    expect(variables.filter(([name]) => !serveVariables.includes(name))).toEqual([])
    expect(Object.fromEntries(variables)).toEqual({
      CUBBY_DATA: '/data',
      CUBBY_HOST: '0.0.0.0',
      // Docker stores what a container prints: a key there is a leaked key.
      CUBBY_NO_BOOTSTRAP: '1',
    })
    expect(only('EXPOSE')).toBe(serveFlags.port!.default!)
  })

  test('builds a target that exists, for both processors, and takes files that the build writes', async () => {
    const [, install, compile] = build.filter(({ name }) => name === 'RUN' || name === 'COPY').map(({ text }) => text)
    expect(install).toBe('npm ci --omit=dev')
    const [, word] = /^npm run build:binary -- --target ("\S.*?") --out \/out +&& /.exec(compile!)!
    for (const [TARGETARCH, target] of [
      ['amd64', 'linux-x64'],
      ['arm64', 'linux-arm64'],
    ] as const) {
      const shell = Bun.spawn(['sh', '-c', `printf %s ${word}`], { env: { ...process.env, TARGETARCH } })
      expect(await new Response(shell.stdout).text()).toBe(target)
      expect(targets).toContain(target)
      expect(fileNameOf(target)).toMatch(/^cubby-linux-/)
    }
    const script = read('packages/server/scripts/build-binary.ts')
    for (const name of ['LICENSES.txt', 'cubby.cdx.json']) {
      expect([name, script.includes(`'${name}'`)]).toEqual([name, true])
      expect(all('COPY').join('\n')).toContain(`/out/${name} `)
    }
  })
})

// ── Compose ────────────────────────────────────────────────────────────────────────────────────────────────

const composeFiles = ['deploy/compose.yaml', 'deploy/compose.postgres.yaml']

for (const path of composeFiles) {
  describe(path, () => {
    const file = Bun.YAML.parse(read(path)) as Json
    const services = Object.entries(file.services) as [string, Json][]
    const own = services.filter(([, { image }]) => image === 'cubby')

    test('names nothing that Compose does not know, and only services and volumes that it declares', () => {
      expect(Object.keys(file).filter((key) => !/^(name|services|volumes|x-cubby)$/.test(key))).toEqual([])
      const known =
        'image build restart ports environment volumes read_only tmpfs cap_drop security_opt ulimits stop_grace_period depends_on healthcheck shm_size'
      for (const [name, service] of services) {
        expect([name, Object.keys(service).filter((key) => !known.split(' ').includes(key))]).toEqual([name, []])
        for (const volume of service.volumes) expect(Object.keys(file.volumes)).toContain(volume.split(':')[0])
        for (const [needed, { condition }] of Object.entries<Json>(service.depends_on ?? {})) {
          expect(condition).toBe('service_healthy')
          expect(file.services[needed].healthcheck.test[0]).toBe('CMD')
        }
      }
    })

    test('every server is as confined as the docs say, and reached from this machine only', () => {
      expect(own.length).toBe(path.includes('postgres') ? 2 : 1)
      for (const [, service] of own) {
        expect(service).toMatchObject({
          build: '..',
          read_only: true,
          tmpfs: ['/tmp'],
          cap_drop: ['ALL'],
          security_opt: ['no-new-privileges:true'],
          ulimits: { nofile: 65536 },
        })
        expect(secondsOf(service.stop_grace_period) * 1_000).toBeGreaterThan(stopMsMax)
        expect(service.volumes).toEqual([expect.stringMatching(/^\w+:\/data$/)])
        expect(service.ports).toEqual([expect.stringMatching(/^127\.0\.0\.1:\d+:4600$/)])
      }
      const ports = own.map(([, { ports }]) => ports[0])
      expect(new Set(ports).size).toBe(ports.length)
    })

    test('its variables are flags of serve; one that the operator has not set is empty, or refused', () => {
      for (const [name, { environment }] of own) {
        expect([name, Object.keys(environment).filter((variable) => !serveVariables.includes(variable))]).toEqual([
          name,
          [],
        ])
        for (const [, inner] of Object.values<string>(environment)
          .join('\n')
          .matchAll(/\$\{([^}]*)\}/g)) {
          expect(inner).toMatch(/^(CUBBY_[A-Z_]+:-|POSTGRES_PASSWORD:\?.+)$/)
        }
      }
    })
  })
}

test('the servers on PostgreSQL share the store and the place of files, which is in their volume', () => {
  const { services } = Bun.YAML.parse(read('deploy/compose.postgres.yaml')) as Json
  const [one, two] = [services['cubby-1'], services['cubby-2']]
  expect(one.environment).toEqual(two.environment)
  expect(one.volumes).toEqual(two.volumes)
  expect(one.environment.CUBBY_FILES).toStartWith('/data/')
  const { POSTGRES_USER: user, POSTGRES_DB: db, POSTGRES_PASSWORD: password } = services.postgres.environment
  expect(one.environment.CUBBY_STORE).toBe(`postgres://${user}:${password}@postgres/${db}?sslmode=disable`)
})

// ── systemd ────────────────────────────────────────────────────────────────────────────────────────────────

describe('deploy/cubby.service', () => {
  const directivesOf = (unit: string): string[] => unit.split('\n').filter((line) => /^[A-Z]\w+=/.test(line))
  const unit = read('deploy/cubby.service')
  const directives = directivesOf(unit)
  const settingOf = (name: string): string => directives.find((line) => line.startsWith(`${name}=`))!.split('=')[1]!

  test('starts a command that exists, and lets a stop end by itself', () => {
    expectCommand(settingOf('ExecStart').split(' '))
    expect(secondsOf(settingOf('TimeoutStopSec')) * 1_000).toBeGreaterThan(stopMsMax)
    expect(settingOf('ExecStart')).toContain(`--data /var/lib/${settingOf('StateDirectory')} --no-bootstrap`)
  })

  test('the line of docs/deploying.md for a clone differs in the program only', () => {
    const [, shown] = /```ini\nExecStart=(.*)\n```/.exec(read('docs/deploying.md'))!
    expect(shown!.replace('/opt/cubby/node_modules/.bin/', '/usr/local/bin/')).toBe(settingOf('ExecStart'))
  })

  const analyze = Bun.which('systemd-analyze')
  if (analyze === null) console.log('deploy.test.ts: no systemd-analyze here; the unit is not verified')

  test.skipIf(analyze === null)('systemd-analyze has nothing to say about it', async () => {
    const dir = makeTempDir()
    try {
      // It looks whether the program is there.
      writeFileSync(join(dir, 'cubby.service'), unit.replace('/usr/local/bin/cubby', process.execPath))
      const child = Bun.spawn([analyze!, 'verify', join(dir, 'cubby.service')], { stdout: 'pipe', stderr: 'pipe' })
      const [out, problems] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
      // Units of this machine that it reads too may be wrong.
      const about = `${out}${problems}`.split('\n').filter((line) => line.includes('cubby.service'))
      expect([await child.exited, about]).toEqual([0, []])
    } finally {
      removeTempDir(dir)
    }
  })
})

test('docs/deploying.md names every file, and none that is not there', () => {
  const page = read('docs/deploying.md')
  for (const path of ['Dockerfile', '.dockerignore', 'deploy/cubby.service', ...composeFiles]) {
    expect([path, page.includes(`\`${path}\``)]).toEqual([path, true])
  }
  for (const [, path] of page.matchAll(/\b(deploy\/[\w.-]+\w)/g)) expect(read(path!)).not.toBe('')
})
