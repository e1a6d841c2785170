import { analystToolsPage } from './analyst-tools-page.ts'
import { chartSettings } from './chart-settings.ts'
import { cliOperations } from './cli-operations.ts'
import { contractTypes, handledTypes } from './contract-types.ts'
import { dbtSources, dbtViews } from './dbt-sources.ts'
import type { Maker } from './maker.ts'
import { performancePage } from './performance-page.ts'
import { plantedBugsPage } from './planted-bugs-page.ts'
import { pythonOperations, pythonResources, pythonTypesFile } from './python-sdk.ts'
import { reporterVectorsFile } from './reporter-vectors.ts'
import { sdkOperations, sdkResources } from './sdk.ts'
import { sdkPage } from './sdk-page.ts'
import { viewsPage } from './views-page.ts'

/** The makers of all generated files. */
export const MAKERS: readonly Maker[] = [
  contractTypes,
  handledTypes,
  dbtSources,
  dbtViews,
  analystToolsPage,
  performancePage,
  plantedBugsPage,
  sdkOperations,
  sdkResources,
  sdkPage,
  cliOperations,
  chartSettings,
  pythonOperations,
  pythonResources,
  pythonTypesFile,
  reporterVectorsFile,
  viewsPage,
]
