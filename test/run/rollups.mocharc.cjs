const { mocharc } = require('./mocharc.cjs')

module.exports = mocharc(
  (file) => file.startsWith('services/rollup/') || file === 'services/corrections-model',
)
