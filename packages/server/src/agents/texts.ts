// The texts themselves. The build puts them into the bundle, so that a packed server needs no files for them.

import errors from '../../../../docs/errors.md' with { type: 'text' }
import api from '../../../../docs/http-api.md' with { type: 'text' }
import modelling from '../../../../docs/modelling.md' with { type: 'text' }
import llms from './llms.md' with { type: 'text' }
import skill from './skill.md' with { type: 'text' }

export const texts = { api, errors, modelling, llms, skill }
