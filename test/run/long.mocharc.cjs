const { mocharc, isLong, hasLongForm } = require('./mocharc.cjs')

module.exports = mocharc((file) => isLong(file) || hasLongForm(file), true)
