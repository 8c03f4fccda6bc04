import { endOutput, watchOutput } from './cli/print.ts'
import { run } from './cli/run.ts'

watchOutput()
const exitCode = await run(process.argv.slice(2), process.env)
process.exit(await endOutput(exitCode))
