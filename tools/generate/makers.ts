import { contractTypes, handledTypes } from './contract-types.ts'
import type { Maker } from './maker.ts'
import { performancePage } from './performance-page.ts'
import { plantedBugsPage } from './planted-bugs-page.ts'

/** All files that are made of others. */
export const MAKERS: readonly Maker[] = [contractTypes, handledTypes, performancePage, plantedBugsPage]
