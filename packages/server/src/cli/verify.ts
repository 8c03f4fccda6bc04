import { describeLocation } from '../engines/open-engine.ts'
import { type CliCommand, jsonFlag, printJson, printLine, storeFlags, storeLocation } from './command.ts'
import { withStore } from './with-store.ts'

export const verifyCommand: CliCommand = {
  name: 'verify',
  summary: 'check the store: every index entry against its record',
  details: 'Exit 0 and one line if all is well; exit 1 and a line a finding if not. Works beside a running server.',
  flags: { ...storeFlags, json: jsonFlag },
  run: (args) =>
    withStore(args, { mustExist: true }, async (engine) => {
      const findings: string[] = []
      for await (const finding of engine.check()) {
        findings.push(finding)
        if (!args.flag('json')) printLine(finding)
      }
      if (args.flag('json')) printJson({ ok: findings.length === 0, findings })
      else if (findings.length === 0) printLine(`ok: ${describeLocation(storeLocation(args))} is sound`)
      return findings.length === 0 ? 0 : 1
    }),
}
