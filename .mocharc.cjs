const { mocharc, isQuick } = require('./test/run/mocharc.cjs')

module.exports = mocharc(isQuick)
