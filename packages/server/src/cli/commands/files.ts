import { basename } from 'node:path'
import { fileBytesMax, urlSecondsMax } from '../../core/limits.ts'
import { openClock } from '../../process/clock.ts'
import { type Arguments, jsonFlag, UsageError } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printJson, printLine } from '../print.ts'
import { checkName, dbFlag, ifMatchFlag, ifMatchHeader, parseIfMatch, requireName } from '../target/address.ts'
import { bucketPath, filePath, parseProperties, propertyFlags, requireFileName } from '../target/file-address.ts'
import { openRemote, type Remote, remoteFlags } from '../target/remote.ts'
import { ifAbsentFlag, parseConditions, parseTtlFlag, ttlFlag } from '../target/write-flags.ts'
import { download } from '../transfer/download.ts'
import { printFiles, printFilesAsJson } from '../transfer/file-list.ts'
import { queryPage } from '../transfer/pages.ts'
import { openUploadSource, upload } from '../transfer/upload.ts'
import { writeBytesToFile, writeBytesToStdout } from '../transfer/write-bytes.ts'
import { refuseExisting, writeTextToStdout } from '../transfer/write-lines.ts'
import { wordsOf } from '../verb-command.ts'

// The routes of files, for the shell. Bytes are streamed in both directions.

const fileIfMatchFlag = { ...ifMatchFlag, help: 'only if its updatedAt is this; *: only if the file exists' }

const putCommand: CliCommand = {
  ...wordsOf('putFile'),
  positionals: ['BUCKET', '[NAME]', 'FILE'],
  example: 'cubby files put photos cats/tom.jpg tom.jpg --db app',
  details: `Prints the file's record. NAME is the last part of FILE if it is not given. - as FILE is standard input, and
needs a NAME. An existing file is replaced as a whole: without --visibility public the new one is private,
also if the old one was public. The file that is there stays until all bytes have arrived.`,
  flags: {
    db: dbFlag,
    ...propertyFlags,
    ttl: ttlFlag('file'),
    'if-match': fileIfMatchFlag,
    'if-absent': ifAbsentFlag('file'),
    ...remoteFlags,
  },
  async run(args) {
    const { name, file } = parseNameAndFile(args)
    const path = filePath(args, name)
    const { type, visibility, metadata } = parseProperties(args)
    const ttl = parseTtlFlag(args, openClock(process.env).now())
    const headers = parseConditions(args)
    if (type !== undefined) headers['content-type'] = type
    const remote = openRemote(args)
    const source = openUploadSource(file)
    const parameters = new URLSearchParams()
    for (const [name, value] of Object.entries({ visibility, ttl, metadata })) {
      if (value !== undefined) parameters.set(name, String(value))
    }
    const query = parameters.size === 0 ? '' : `?${parameters}`
    await writeTextToStdout(await upload(remote, { path: path + query, headers, source }))
    return 0
  },
}

/** [NAME] FILE. */
const parseNameAndFile = ({ positionals }: Arguments): { name: string; file: string } => {
  const file = positionals.at(-1)!
  if (file === '-' && positionals.length < 3) throw new UsageError('NAME is missing: standard input has no name')
  if (file === '-' && process.stdin.isTTY) {
    throw new UsageError('standard input is a terminal; read from a pipe: … | cubby files put BUCKET NAME -')
  }
  return { name: requireFileName(positionals.length < 3 ? basename(file) : positionals[1]!), file }
}

const getCommand: CliCommand = {
  name: 'files get',
  positionals: ['BUCKET', 'NAME'],
  summary: 'get the bytes of a file',
  details: `They are compared with the digest of the file. With --out the file is written whole or not at all, and an
existing one is not overwritten unless --force is given; without --out the bytes go to standard output,
which must not be a terminal unless --out - says so.`,
  example: 'cubby files get photos cats/tom.jpg --db app --out tom.jpg',
  flags: {
    db: dbFlag,
    out: { type: 'string', value: 'FILE', short: 'o', help: 'write to this file; - is standard output' },
    force: { type: 'boolean', help: 'with --out: replace an existing file, once all bytes have arrived' },
    ...remoteFlags,
  },
  async run(args) {
    const name = requireFileName(args.positionals[1]!)
    const path = filePath(args, name)
    const out = args.text('out')
    const replaces = args.flag('force')
    if (out === '') throw new UsageError('--out is empty; it takes the name of a file')
    if (out === undefined && process.stdout.isTTY) {
      throw new UsageError('standard output is a terminal; give --out FILE, or --out - to write to it anyway')
    }
    const toStdout = out === undefined || out === '-'
    if (toStdout && args.isGiven('force')) throw new UsageError('--force needs --out FILE: there is no file to replace')
    const remote = openRemote(args)
    // The check comes before the request, which may be for a large file.
    if (!toStdout && !replaces) refuseExisting(out)
    await download(remote, {
      path,
      isOnTerminal: toStdout && process.stdout.isTTY === true,
      size: process.stderr.isTTY ? await findSize(remote, args, name) : undefined,
      openOutput: () => (toStdout ? writeBytesToStdout() : writeBytesToFile(out, { replaces })),
    })
    return 0
  },
}

/** Undefined if it is not known: the download itself says what is wrong. */
const findSize = async (remote: Remote, args: Arguments, name: string): Promise<number | undefined> => {
  const bucket = `_buckets/${args.positionals[0]}`
  const query = { prefix: JSON.stringify(name), limit: '1' }
  const items = await queryPage(remote, requireName(args, 'db'), bucket, query).then(
    ({ items }) => items.map((item) => JSON.parse(item)),
    () => [],
  )
  return items.find((file) => file.name === name)?.size
}

const listCommand: CliCommand = {
  ...wordsOf('queryFiles'),
  details: `One file per line: when it was written, its size in bytes, its visibility, its name. --json prints the whole
record of each. A public key lists the public files. With --folders, the names that have a / behind the
prefix are one line for each folder, which ends with /; --json prints {"folder":…}.`,
  flags: {
    db: dbFlag,
    prefix: { type: 'string', value: 'TEXT', help: 'only files whose name begins with this' },
    folders: { type: 'boolean', help: 'list a folder instead of the files in it' },
    newest: { type: 'boolean', help: 'the newest first, not by name' },
    limit: { type: 'string', value: 'N', help: 'at most this many files and folders; default: all' },
    ...remoteFlags,
    json: { ...jsonFlag, help: 'print JSON, one file or folder per line' },
  },
  async run(args) {
    const limit = args.text('limit')
    const prefix = args.text('prefix')
    if (limit !== undefined && !/^[1-9][0-9]{0,8}$/.test(limit)) {
      throw new UsageError(`--limit is "${limit}"; it takes an integer of at least 1`)
    }
    const [newest, folders] = [args.flag('newest'), args.flag('folders')]
    if (newest && prefix !== undefined) throw new UsageError('--prefix and --newest cannot be combined')
    if (newest && folders) throw new UsageError('--folders and --newest cannot be combined')
    const listing = {
      db: requireName(args, 'db'),
      bucket: checkName(args.positionals[0]!, 'BUCKET'),
      prefix,
      newest,
      folders,
      filesMax: limit === undefined ? Number.POSITIVE_INFINITY : Number(limit),
    }
    await (args.flag('json') ? printFilesAsJson : printFiles)(openRemote(args), listing)
    return 0
  },
}

const urlCommand: CliCommand = {
  ...wordsOf('getFileUrl', '--expires 1h'),
  details: `Prints the URL. A public file has a permanent one; --expires gives a signed one also for it. Every other URL
is signed, and ends with the API key that signed it. With --put the URL is for an upload of this one name:
curl -T FILE URL. Only if the name is free, unless --replace is given.`,
  flags: {
    db: dbFlag,
    expires: { type: 'string', value: 'TIME', help: 'how long a signed URL works: seconds, or as 15m, 1h, 7d (15m)' },
    download: { type: 'boolean', help: 'browsers save the file instead of showing it' },
    'download-as': { type: 'string', value: 'NAME', help: 'the same, under this name' },
    put: { type: 'boolean', help: 'for an upload; the flags below are for this' },
    replace: { type: 'boolean', help: 'it may replace a file' },
    'size-max': { type: 'string', value: 'BYTES', help: 'the largest size' },
    ...propertyFlags,
    type: { type: 'string', value: 'TYPE', help: 'its media type; no other may be sent' },
    ttl: ttlFlag('file'),
    ...remoteFlags,
    json: { ...jsonFlag, help: 'print the whole answer' },
  },
  async run(args) {
    const members = { name: JSON.stringify(requireFileName(args.positionals[1]!)), ...parseUrlMembers(args) }
    const path = `${bucketPath(args)}/url`
    const body = `{${Object.entries(members).map(([name, text]) => `"${name}":${text}`)}}`
    const answer = await openRemote(args).request({ method: 'POST', path, body, repeatable: true })
    printLine(args.flag('json') ? answer : JSON.parse(answer).url)
    return 0
  },
}

const uploadFlags = ['replace', 'size-max', ...Object.keys(propertyFlags), 'ttl']

/** Returns the members as JSON texts. */
const parseUrlMembers = (args: Arguments): Record<string, string> => {
  const members: Record<string, string> = {}
  const expires = args.text('expires')
  if (expires !== undefined) members.expiresIn = String(parseSeconds(expires))
  const saved = args.text('download-as')
  if (saved !== undefined || args.flag('download')) members.download = JSON.stringify(saved ?? true)
  if (!args.flag('put')) {
    const unused = uploadFlags.find((flag) => args.isGiven(flag))
    if (unused !== undefined) throw new UsageError(`--${unused} needs --put`)
    return members
  }
  if (members.download !== undefined) throw new UsageError('--download and --put cannot be combined')
  members.method = '"PUT"'
  const { type, visibility, metadata } = parseProperties(args)
  if (type !== undefined) members.contentType = JSON.stringify(type)
  if (visibility !== undefined) members.visibility = JSON.stringify(visibility)
  if (metadata !== undefined) members.metadata = metadata
  const ttl = parseTtlFlag(args, openClock(process.env).now())
  if (ttl !== undefined) members.ttl = String(ttl)
  const sizeMax = args.text('size-max')
  if (sizeMax !== undefined) members.sizeMax = String(parseSize(sizeMax))
  if (args.flag('replace')) members.replace = 'true'
  return members
}

const secondsOf: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 }

const parseSeconds = (text: string): number => {
  const [, digits, unit] = /^([0-9]{1,9})([smhd]?)$/.exec(text) ?? []
  const seconds = digits === undefined ? 0 : Number(digits) * (secondsOf[unit!] ?? 1)
  if (seconds >= 1 && seconds <= urlSecondsMax) return seconds
  throw new UsageError(`--expires is "${text}"; it takes seconds, or a time such as 15m, 1h or 7d, at most 7d`)
}

const parseSize = (text: string): number => {
  const bytes = /^[0-9]{1,12}$/.test(text) ? Number(text) : Number.NaN
  if (bytes <= fileBytesMax) return bytes
  throw new UsageError(`--size-max is "${text}"; it takes bytes, from 0 to ${fileBytesMax}`)
}

const rmCommand: CliCommand = {
  ...wordsOf('deleteFile'),
  positionals: ['BUCKET', 'NAME...'],
  details: `Prints {"name":…,"deleted":true} for each, or false if there was no such file; the exit code is 0 in both
cases. Names are used literally: there are no wildcards.`,
  flags: { db: dbFlag, 'if-match': fileIfMatchFlag, ...remoteFlags },
  async run(args) {
    const names = args.positionals.slice(1).map(requireFileName)
    const paths = names.map((name) => filePath(args, name))
    const ifMatch = parseIfMatch(args)
    if (ifMatch !== undefined && names.length > 1) throw new UsageError('--if-match takes one NAME')
    const headers = ifMatch === undefined ? undefined : ifMatchHeader(ifMatch)
    const remote = openRemote(args)
    for (const [i, path] of paths.entries()) {
      const answer = await remote.request({ method: 'DELETE', path, headers, repeatable: false })
      printJson({ name: names[i], deleted: JSON.parse(answer).deleted })
    }
    return 0
  },
}

export const filesCommands: CliCommand[] = [putCommand, getCommand, listCommand, urlCommand, rmCommand]
