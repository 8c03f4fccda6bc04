import { scriptSources } from './sources.js'

// A folder that exists only for the bundler: a packed server has the texts of the modules, but not their files.
const folder = '/cubby-docs'

/** The script of the page, bundled when the page is made: the server starts from its sources, without a build step. */
export const bundleScript = async (): Promise<string> => {
  const files = Object.fromEntries(Object.entries(scriptSources).map(([name, text]) => [`${folder}/${name}`, text]))
  const { outputs } = await Bun.build({
    entrypoints: [`${folder}/main.ts`],
    files,
    target: 'browser',
    format: 'iife',
    minify: true,
  })
  const text = await outputs[0]!.text()
  // The end of the element that holds it must not be in it.
  if (text.includes('</script')) throw new Error('the script of the page contains </script')
  return text.trim()
}
