import { join } from 'node:path'
import { makeTempDir, removeTempDir } from '../harness.ts'

// s3rver, a fake S3 that others wrote, in a process of its own: it installs handlers for the exceptions of its process.

const program = `
const S3rver = require('@20minutes/s3rver')
const [directory, bucket] = process.argv.slice(-2)
const configureBuckets = [{ name: bucket }]
const options = { address: '127.0.0.1', port: 0, silent: true, vhostBuckets: false, directory, configureBuckets }
new S3rver(options).run().then(({ port }) => console.log(port))
`

export const startS3rver = async () => {
  const directory = makeTempDir()
  const bucket = 'cubby-files'
  const child = Bun.spawn([process.execPath, '-e', program, directory, bucket], {
    cwd: join(import.meta.dir, '../../../..'),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const { value } = await child.stdout.getReader().read()
  const port = Number(new TextDecoder().decode(value))
  if (!Number.isInteger(port) || port === 0) throw new Error('s3rver did not start')
  return {
    url: `s3://${bucket}/a/prefix`,
    env: {
      AWS_ENDPOINT_URL: `http://127.0.0.1:${port}`,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'S3RVER',
      AWS_SECRET_ACCESS_KEY: 'S3RVER',
    },
    async stop() {
      child.kill()
      await child.exited
      removeTempDir(directory)
    },
  }
}
