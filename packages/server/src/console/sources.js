// The files of the console, which `packages/console/build.ts` makes, and its icon. This file is JavaScript because TypeScript
// would read all of the JSON, which is not there before the first build.

import built from '../../../console/dist/console.json' with { type: 'json' }
import icon from './icon.svg' with { type: 'text' }

export { built, icon }
