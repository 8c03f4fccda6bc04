import { earlierSecretsMax } from '../../core/limits.ts'
import { acceptedUntilMs, newSecret, secretLeadMs } from '../../core/store-secrets.ts'
import { openClock } from '../../process/clock.ts'
import { jsonFlag } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printJson, printLine } from '../print.ts'
import { storeFlags, withStore } from '../target/store.ts'

export const secretsRotateCommand: CliCommand = {
  name: 'secrets rotate',
  summary: 'replace the secret of URLs, cursors and user tokens',
  details: `Use it when somebody may have read a backup or a copy of the store: with the secret in it they can sign
URLs of files and make user tokens. When the command ends, running servers use the new secret. What an
earlier one has signed or sealed is accepted for 7 days after its rotation, of ${earlierSecretsMax} earlier ones at most. API
keys, and the secrets that sign pushes of tasks, stay as they are.`,
  example: 'cubby secrets rotate',
  flags: {
    ...storeFlags,
    now: { type: 'boolean', help: 'accept nothing of earlier secrets any more' },
    json: jsonFlag,
  },
  run: (args) =>
    withStore(args, { mustExist: true }, async (engine) => {
      const endsEarlier = args.flag('now')
      const nowMs = openClock(process.env).now()
      // A process that knows the new secret already must not use it before all others accept it.
      const next = newSecret(endsEarlier ? nowMs : nowMs + secretLeadMs)
      const secrets = await engine.secrets.rotate(next, endsEarlier, nowMs)
      await Bun.sleep(secretLeadMs)
      const earlier = secrets.slice(1).map((_, i) => ({ acceptedUntil: acceptedUntilMs(secrets, i + 1) }))
      if (args.flag('json')) printJson({ rotatedAt: next.beginsAtMs, earlier })
      else if (endsEarlier)
        printLine('rotated: signed URLs, cursors and user tokens from before are no longer accepted')
      else
        printLine(
          `rotated: signed URLs, cursors and user tokens from before are accepted until ${showTime(earlier[0]!.acceptedUntil)}`,
        )
      return 0
    }),
}

const showTime = (ms: number): string => `${new Date(ms).toISOString().slice(0, 'YYYY-MM-DDTHH:mm:ss'.length)}Z`
