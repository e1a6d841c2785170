import { existsSync } from 'node:fs'
import path from 'node:path'
import { API_ADDRESS_FILE } from '../../shared/config/common-settings.ts'
import { writeSecretFile } from '../../shared/config/secret-file.ts'
import { explainFullDisk } from '../../shared/errors/disk-full.ts'
import { type Closeable, closeAll } from '../../shared/lifecycle/close-all.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import { showBuildInfo } from '../../shared/metrics/build-info.ts'
import { openMetrics } from '../../shared/metrics/metrics.ts'
import type { StandaloneConfig } from './config.ts'
import { API_KEY_FILE, openDataFolder, TEST_API_KEY_FILE } from './data-folder.ts'
import { openEngines } from './engines.ts'
import { type FirstCompany, makeFirstCompanies } from './first-companies.ts'
import { openEventFlow } from './open-event-flow.ts'
import { openParts } from './open-parts.ts'
import { openPools } from './open-pools.ts'
import { type OpenPorts, openPorts } from './open-ports.ts'
import { requirePorts } from './ports.ts'
import type { Start } from './start.ts'

/** A running Tally. */
export interface Tally extends Closeable, OpenPorts {
  dataFolder: string
  /** The companies of a new installation whose key files exist. */
  firstCompanies: FirstCompany[]
  /** The companies whose key files are gone. */
  missingKeys: FirstCompany[]
}

/**
 * Starts everything in one process. A database for which no server is set is embedded. When a step fails, everything
 * opened before is closed.
 *
 * @param onUnexpectedExit called when an embedded engine ends by itself
 * @throws StartupError in one line when something outside Tally prevents the start
 */
export async function startTally(
  config: StandaloneConfig,
  log: Logger,
  onUnexpectedExit: (reason: string) => void,
): Promise<Tally> {
  const opened: Closeable[] = []
  try {
    const folder = await openDataFolder(config.dataDir)
    opened.push(folder)
    await requirePorts(config)
    const engines = await openEngines(config, folder, opened, log, onUnexpectedExit)
    const metrics = openMetrics()
    showBuildInfo(metrics, 'standalone')
    return await serve({ config, folder, engines, opened, metrics, log })
  } catch (err) {
    await closeAll(opened, log)
    throw explainFullDisk(err, path.resolve(config.dataDir))
  }
}

async function serve(start: Start): Promise<Tally> {
  const { folder, opened, log } = start
  const pools = openPools(start)
  const firstCompanies: FirstCompany[] = [
    { name: 'default', mode: 'live', keyFile: folder.join(API_KEY_FILE) },
    { name: 'sandbox', mode: 'test', keyFile: folder.join(TEST_API_KEY_FILE) },
  ]
  await makeFirstCompanies(pools.api, firstCompanies)
  const flow = await openEventFlow(start, pools)
  const parts = await openParts(start, pools, flow)
  const ports = await openPorts(start, parts)
  await writeSecretFile(folder.join(API_ADDRESS_FILE), `${ports.address}\n`)
  return {
    ...ports,
    name: 'Tally',
    dataFolder: folder.path,
    firstCompanies: firstCompanies.filter(({ keyFile }) => existsSync(keyFile)),
    missingKeys: firstCompanies.filter(({ keyFile }) => !existsSync(keyFile)),
    close: () => closeAll(opened, log),
  }
}
