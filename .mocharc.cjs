const { mocharc, isSlow } = require('./test/run/mocharc.cjs')

module.exports = mocharc((file) => !isSlow(file))
