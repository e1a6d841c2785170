import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { load } from 'js-yaml'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { asHandled, type Described } from './as-handled.ts'
import type { Maker } from './maker.ts'
import { openApiTypes } from './openapi-types.ts'

const readContract = () => readFile(path.join(PROJECT_ROOT, 'openapi.yaml'), 'utf8')
const SOURCES = ['openapi.yaml', 'tools/generate/contract-types.ts', 'tools/generate/openapi-types.ts']

/** Operations and schemas for clients, which may omit a value with a default. */
export const contractTypes: Maker = {
  file: 'contract/operations.d.ts',
  sources: SOURCES,
  make: async () => openApiTypes(await readContract(), ['--default-non-nullable', 'false']),
}

/** Requests in the form that handlers get. */
export const handledTypes: Maker = {
  file: 'contract/requests.d.ts',
  sources: [...SOURCES, 'tools/generate/as-handled.ts'],
  make: async () => openApiTypes(JSON.stringify(asHandled(load(await readContract()) as Described))),
}
