import path from 'node:path'
import { ANALYST_PASSWORD_FILE } from './data-folder.ts'
import type { Tally } from './tally.ts'

/** Makes the text that a user reads once Tally serves: its address, the files with the keys, and what to try next. */
export function welcome(tally: Omit<Tally, 'close' | 'name' | 'drain'>, seconds: number): string[] {
  const { dataFolder, firstCompanies, missingKeys, analystAddress, analystSeesAll, address, adminAddress } =
    tally
  const show = (name: string) => path.relative(process.cwd(), path.join(dataFolder, name)) || name
  const url = `http://${address}`
  return [
    `Tally serves on ${url} (ready in ${seconds.toFixed(1)} s). Data: ${show('.')}`,
    ...(tally.servesConsole ? [`The console is at ${url}/console; it asks for a key.`] : []),
    ...firstCompanies.map(
      ({ name, mode, keyFile }) =>
        `The key of the ${mode} company "${name}" is in ${show(path.basename(keyFile))}.`,
    ),
    ...missingKeys.map(
      ({ name, mode, keyFile }) =>
        `The key of the ${mode} company "${name}" is not in ${show(path.basename(keyFile))} any more; "npm run keys -- issue --company ${name}" makes another.`,
    ),
    ...(analystAddress === undefined
      ? []
      : [analystsLine(analystAddress, analystSeesAll ? show(ANALYST_PASSWORD_FILE) : undefined)]),
    `Probes and metrics are on http://${adminAddress}.`,
    'Try next:',
    ...(tally.servesConsole
      ? [`  Open ${url}/console, and sign in with the key in ${show('test-api-key')}.`]
      : []),
    `  curl -s -H "x-api-key: $(cat ${show('api-key')})" ${url}/v2/accounts`,
    '  README.md has a tour of five minutes.',
  ]
}

const analystsLine = (address: string, passwordFile: string | undefined): string =>
  `Analysts query ClickHouse on http://${address}${
    passwordFile === undefined
      ? '; "npm run analysts -- add" makes one'
      : ` as "analyst", the password is in ${passwordFile}`
  }.`
