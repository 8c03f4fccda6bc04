import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { observedOperations } from '../../src/http/observed-operations.ts'
import { openRoutes, routes } from '../../src/http/routes.ts'
import type { Family } from '../../src/metrics/family.ts'
import { ServerMetrics } from '../../src/process/metrics.ts'
import type { Engine } from '../../src/store/engine.ts'

// The page and the dashboard name metrics. A name that is wrong there shows an empty panel, and nobody notices.

const root = resolve(import.meta.dir, '../../../..')
const read = (path: string): string => readFileSync(resolve(root, path), 'utf8')

const families = (): readonly Family[] => {
  const metrics = new ServerMetrics(0, 0)
  const measures = { process: () => ({}), store: async () => ({}) }
  metrics.attach({ measures, description: 'test 1' } as unknown as Engine, () => undefined, true, Date.now)
  void metrics.stop()
  return metrics.families
}

/** The names that samples have. */
const sampleNames = ({ name, type }: Family): string[] =>
  type === 'histogram' ? ['_bucket', '_sum', '_count'].map((suffix) => name + suffix) : [name]

test('docs/watching.md lists every metric with its type and labels, and no other', () => {
  const section = read('docs/watching.md').split('\n## Metrics\n')[1]!.split('\n## ')[0]!
  const rows = section
    .split('\n')
    .filter((line) => /^\| `(cubby|process)_/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')))
    .filter(([, , type]) => ['counter', 'gauge', 'histogram', 'info'].includes(type!))
    .map(([, name, type, labels]) => ({ name, type, labels }))
  const declared = families().map(({ name, type, labels }) => ({
    name,
    type,
    labels: labels.map((label) => label.name).join(', '),
  }))
  expect(rows.toSorted((a, b) => a.name!.localeCompare(b.name!))).toEqual(
    declared.toSorted((a, b) => a.name.localeCompare(b.name)),
  )
})

test('docs/watching.md: alerts name metrics that exist', () => {
  const section = read('docs/watching.md').split('\n## Metrics\n')[1]!.split('\n## ')[0]!
  const known = new Set(families().flatMap((family) => [family.name, ...sampleNames(family)]))
  const named = [...section.matchAll(/\b(?:cubby|process)_[a-z_]+/g)].map(([name]) => name)
  expect(named.length).toBeGreaterThan(30)
  expect(named.filter((name) => !known.has(name))).toEqual([])
})

interface Panel {
  id: number
  title: string
  type: string
  targets?: { expr: string; legendFormat: string }[]
}

test('the dashboard: every metric and every label in it exists, and every metric is in it', () => {
  const dashboard = JSON.parse(read('docs/grafana/dashboard.json')) as {
    panels: Panel[]
    templating: { list: object[] }
  }
  const bySample = new Map(families().flatMap((family) => sampleNames(family).map((name) => [name, family] as const)))
  const used = new Set<string>()
  const problems: string[] = []
  for (const { title, targets = [] } of dashboard.panels) {
    for (const { expr, legendFormat } of targets) {
      const names = [...expr.matchAll(/\b(?:cubby|process)_[a-z_]+/g)].map(([name]) => name)
      if (names.length === 0) problems.push(`${title}: no metric in ${expr}`)
      for (const name of names) {
        const family = bySample.get(name)
        if (family === undefined) {
          problems.push(`${title}: ${name}`)
          continue
        }
        used.add(family.name)
        // Labels in braces, after `by`, and in the legend. `instance` is Prometheus' own.
        const labels = [
          ...[...expr.matchAll(/[{,]\s*([a-z_]+)\s*=~?"/g)].map(([, label]) => label!),
          ...[...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(',').map((label) => label.trim())),
          ...[...legendFormat.matchAll(/\{\{([a-z_]+)\}\}/g)].map(([, label]) => label!),
        ]
        const known = ['instance', 'le', ...family.labels.map((label) => label.name)]
        for (const label of labels) if (!known.includes(label)) problems.push(`${title}: ${name} has no ${label}`)
        if (family.type === 'counter' && !expr.includes(`rate(${name}`)) problems.push(`${title}: no rate of ${name}`)
      }
    }
  }
  expect(problems).toEqual([])
  expect(
    families()
      .filter(({ name }) => !used.has(name))
      .map(({ name }) => name),
  ).toEqual([])
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
  expect(JSON.stringify(dashboard.templating)).toContain('cubby_build_info')
})

test('every operation that can be requested is a value of the label, once', () => {
  expect(new Set(observedOperations).size).toBe(observedOperations.length)
  const routed = Object.values(routes).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  )
  for (const name of [...routed, ...Object.values(openRoutes)]) expect(observedOperations).toContain(name)
})
