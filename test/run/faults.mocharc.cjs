const { mocharc } = require('./mocharc.cjs')

module.exports = mocharc((file) => file.startsWith('faults/'))
