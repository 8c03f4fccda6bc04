import { endOutput } from './cli/print.ts'
import { run } from './cli/run.ts'

const exitCode = await run(process.argv.slice(2), process.env)
await endOutput()
process.exit(exitCode)
