const { mocharc, isLong, isOfOneLayout, isOverHttp, isSlow, mayBePending } = require('./mocharc.cjs')

// Of the quick tier, what runs otherwise beside Kafka and Redis.
const runsOtherwise = (file) => (isOverHttp(file) && !isOfOneLayout(file)) || mayBePending(file)

module.exports = mocharc((file) => !isSlow(file) && !isLong(file) && runsOtherwise(file))
