import { createAvatars } from '../../operations/buckets/examples.ts'
import { fileExampleAt, given, picture, stored, thePicture } from '../../operations/files/examples.ts'
import { base, expiresAt, publish, signedUrl, urlKeyId, urlSignature } from '../../operations/files/url-examples.ts'
import { errorBody } from '../error-examples.ts'
import { givenStep, type HttpExample } from './http-example.ts'

// Examples that only HTTP has: revalidation, ranges, and URLs.

const theFile = given.map(givenStep)
const published = [...given, publish].map(givenStep)
const tag = `"${stored.sha256}"`
/** A part of the content: the word "bytes". */
const range = { Range: 'bytes=4-8' }
const part = { status: 206, headers: { 'Content-Range': `bytes 4-8/${stored.size}` }, response: 'bytes' }

const changed: Omit<HttpExample, 'given'> = {
  name: 'otherBytes',
  summary: 'Not the bytes that are meant',
  parameters: { 'If-Match': '"0"' },
  status: 412,
  response: errorBody('precondition_failed', {
    message: `The bytes of the file have the tag ${tag}, which If-Match does not name.`,
    field: 'If-Match',
    hint: 'Read the file without If-Match, or with the ETag of an earlier answer with its bytes.',
  }),
}

const outside: Omit<HttpExample, 'given'> = {
  name: 'outside',
  summary: 'A range behind the end of the file',
  parameters: { Range: 'bytes=100-' },
  status: 416,
  response: errorBody('range_not_satisfiable', {
    message: `The file has ${stored.size} bytes; the range has none of them.`,
    field: 'Range',
    hint: 'Content-Range has the size of the file: bytes */<size>.',
  }),
}

export const getFile: HttpExample[] = [
  {
    name: 'unchanged',
    summary: 'A copy of the record that is still current',
    given: theFile,
    parameters: { record: true, 'If-None-Match': `"${fileExampleAt}"` },
    status: 304,
    headers: { ETag: `"${fileExampleAt}"` },
  },
  { name: 'range', summary: 'A part of the bytes', given: theFile, parameters: range, ...part },
  { ...changed, given: theFile },
  { ...outside, given: theFile },
]

const noFile = errorBody('file_not_found', {
  message: 'There is no file at this URL.',
  hint: 'A private file needs a signed URL, which a secret key of the service can make.',
})

export const readFileByUrl: HttpExample[] = [
  {
    name: 'permanent',
    summary: 'A public file',
    given: published,
    status: 200,
    headers: { ETag: tag },
    response: picture.content,
  },
  { name: 'range', summary: 'A part of the bytes', given: published, parameters: range, ...part },
  {
    name: 'unchanged',
    summary: 'A copy that is still current',
    given: published,
    parameters: { 'If-None-Match': tag },
    status: 304,
    headers: { ETag: tag },
  },
  { name: 'private', summary: 'A private file, or none', given: theFile, status: 404, response: noFile },
  { ...changed, given: published },
  { ...outside, given: published },
]

export const headFileByUrl: HttpExample[] = [
  { name: 'exists', summary: 'Does it exist?', given: published, status: 200, headers: { ETag: tag } },
]

/** The request for the URL, as a program with a secret key sends it. */
const askForUrl = givenStep({
  operation: 'getFileUrl',
  input: { ...thePicture, method: 'PUT' },
  output: { url: signedUrl(`${base}/${picture.name}`), method: 'PUT', expiresAt },
})
const signedParameters = { expires: String(expiresAt), key: urlKeyId, signature: urlSignature }
const upload = { bytes: picture.content, parameters: { 'Content-Type': picture.contentType } }

export const putFileByUrl: HttpExample[] = [
  {
    name: 'upload',
    summary: 'Upload a file with the URL for it',
    given: [givenStep(createAvatars), askForUrl],
    ...{ ...upload, parameters: { ...signedParameters, ...upload.parameters } },
    status: 200,
    headers: { ETag: `"${fileExampleAt}"` },
    response: stored,
  },
  {
    name: 'taken',
    summary: 'A file has the name, and the URL may not replace it',
    given: [...theFile, askForUrl],
    ...{ ...upload, parameters: { ...signedParameters, ...upload.parameters } },
    status: 412,
    response: errorBody('precondition_failed', {
      message: `The file is at version ${fileExampleAt}; nothing was changed.`,
      hint: 'This URL creates a file and does not replace one. Ask for a URL of another name, or for one made with "replace": true.',
    }),
  },
  {
    name: 'unsigned',
    summary: 'A URL without a signature',
    given: [givenStep(createAvatars)],
    ...upload,
    status: 404,
    response: noFile,
  },
]
