const { mocharc, isLong, isOverHttp, isSlow, mayBePending } = require('./mocharc.cjs')

// Of the quick tier, what runs otherwise beside Kafka and Redis.
module.exports = mocharc((file) => !isSlow(file) && !isLong(file) && (isOverHttp(file) || mayBePending(file)))
