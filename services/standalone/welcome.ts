import path from 'node:path'
import { ANALYST_PASSWORD_FILE } from './analyst-endpoint.ts'
import type { Tally } from './tally.ts'

/** Makes the text that a user reads once Tally serves: its address, the files with the keys, and what to try next. */
export function welcome(tally: Omit<Tally, 'close' | 'name'>, seconds: number): string[] {
  const { dataFolder, firstCompanies, missingKeys, analystPort, address, adminAddress } = tally
  const show = (name: string) => path.relative(process.cwd(), path.join(dataFolder, name)) || name
  const url = `http://${address}`
  return [
    `Tally serves on ${url} (ready in ${seconds.toFixed(1)} s). Data: ${show('.')}`,
    ...firstCompanies.map(
      ({ name, mode, keyFile }) =>
        `The key of the ${mode} company "${name}" is in ${show(path.basename(keyFile))}.`,
    ),
    ...missingKeys.map(
      ({ name, mode, keyFile }) =>
        `The key of the ${mode} company "${name}" is not in ${show(path.basename(keyFile))} any more; "npm run keys -- issue --company ${name}" makes another.`,
    ),
    ...(analystPort === undefined ? [] : [analystsLine(analystPort, show(ANALYST_PASSWORD_FILE))]),
    `Probes and metrics are on http://${adminAddress}.`,
    'Try next:',
    `  curl -s -H "x-api-key: $(cat ${show('api-key')})" ${url}/v2/accounts`,
    '  README.md has a tour of five minutes.',
  ]
}

const analystsLine = (port: number, passwordFile: string): string =>
  `Analysts query ClickHouse on http://127.0.0.1:${port} as "analyst", the password is in ${passwordFile}.`
