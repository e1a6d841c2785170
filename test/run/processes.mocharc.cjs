const { mocharc } = require('./mocharc.cjs')

// What is tested over HTTP alone, whatever serves it.
module.exports = mocharc((file) =>
  /^(contract\/|services\/api\/|services\/gateway\/report-usage$|clients\/reporter\/simulate$|services\/test-area\/(clock|reset|seed|drain)$)/.test(
    file,
  ),
)
