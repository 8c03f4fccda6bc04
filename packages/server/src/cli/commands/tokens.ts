import { tokenSecondsMax, tokenSecondsMin } from '../../core/limits.ts'
import { type Flag, parseDurationFlag, UsageError } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { checkJson, objectText } from '../target/json-object.ts'
import { openRemote, remoteFlags, requestOf } from '../target/remote.ts'
import { printObject } from '../transfer/write-lines.ts'
import { wordsOf } from '../verb-command.ts'

// User tokens belong to the API key that makes them, so these commands ask a server.

const grantsFlag: Flag = { type: 'string', value: 'JSON', help: 'an array of grants' }

const createCommand: CliCommand = {
  ...wordsOf('createToken', `--grants '[{"db":"app","table":"notes","hash":"ada","can":"write"}]'`),
  details: 'The token is printed only once: the store does not keep it. It ends with the API key at the latest.',
  flags: {
    grants: grantsFlag,
    'expires-in': { type: 'string', value: 'TIME', help: 'when it ends, such as 15m or 1d', default: '1h' },
    ...remoteFlags,
  },
  async run(args) {
    const grants = args.text('grants')
    if (grants === undefined) throw new UsageError('--grants JSON is missing')
    const seconds = parseDurationFlag(args, 'expires-in', tokenSecondsMin * 1000, tokenSecondsMax * 1000) / 1000
    const body = objectText({
      user: JSON.stringify(args.positionals[0]),
      grants: checkJson(grants, '--grants'),
      expiresIn: String(seconds),
    })
    // A token that nobody got does no harm.
    const call = { ...requestOf('createToken', {}), body, repeatable: true }
    await printObject(await openRemote(args).request(call))
    return 0
  },
}

const revokeCommand: CliCommand = {
  ...wordsOf('revokeUser'),
  details: `Ends every token that the user has got so far, on every process when the command ends. A token that is
made after that works. Of login tokens, those that were signed up to now are not exchanged any more.`,
  flags: remoteFlags,
  async run(args) {
    const body = JSON.stringify({ user: args.positionals[0] })
    await printObject(await openRemote(args).request({ ...requestOf('revokeUser', {}), body, repeatable: true }))
    return 0
  },
}

export const tokensCommands: CliCommand[] = [createCommand, revokeCommand]
