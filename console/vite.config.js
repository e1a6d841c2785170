import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { defineConfig } from 'vite'

/** The oldest browsers that have all of what styles and scripts use. */
const BROWSERS = ['chrome123', 'firefox125', 'safari17.5']

export default defineConfig(({ command }) => ({
  base: '/console/',
  build: {
    outDir: '../dist/console/site',
    emptyOutDir: true,
    target: BROWSERS,
    // No data: URLs, which the policy of the page forbids.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The notices that the licenses of bundled packages ask for.
    license: { fileName: 'licenses.md' },
    rolldownOptions: {
      checks: { pluginTimings: false },
      output: {
        // What many pages share is in a few files: small ones are compressed worse. All styles that the first page has
        // are in one, so that their layers keep their order.
        codeSplitting: {
          groups: [
            {
              name: 'packages',
              test: /node_modules\/(react|react-dom|scheduler|@tanstack|wouter|regexparam|use-sync)/,
            },
            { name: 'shared', test: /console\/src\/(styles|parts|format|api|app)|shared\/amount/ },
            { name: 'plots', test: /console\/src\/plots|node_modules\/(d3-|internmap)/ },
            { name: 'billing', test: /console\/src\/pages\/(contracts|prices)|shared\/domain\/billing/ },
          ],
        },
      },
      onLog(level, log, handler) {
        // Packages mark files for servers that React may render on. There is no such server here.
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') handler(level, log)
      },
    },
  },
  plugins: command === 'build' ? [encodedFiles()] : [],
  server: { proxy: { '/v2': process.env.TALLY_URL ?? 'http://127.0.0.1:8080' } },
}))

/** Writes each file a second and a third time, with the encodings that browsers accept. */
function encodedFiles() {
  return {
    name: 'encoded-files',
    async writeBundle({ dir }, bundle) {
      await Promise.all(Object.keys(bundle).map((name) => encode(path.join(dir, name))))
    },
  }
}

async function encode(file) {
  const content = await readFile(file)
  const [gz, br] = await Promise.all([
    promisify(gzip)(content, { level: 9 }),
    promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: content.length } }),
  ])
  await Promise.all([writeFile(`${file}.gz`, gz), writeFile(`${file}.br`, br)])
}
