const { mocharc, isSlow } = require('./mocharc.cjs')

module.exports = mocharc(isSlow)
