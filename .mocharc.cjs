const { mocharc, isSlow, isLong } = require('./test/run/mocharc.cjs')

module.exports = mocharc((file) => !isSlow(file) && !isLong(file))
