const { mocharc, isOfOneLayout, isOfProcesses, isOverHttp, isQuick, mayBePending } = require('./mocharc.cjs')

// Of the quick tier, what runs otherwise beside Kafka and Redis.
const runsOtherwise = (file) => (isOverHttp(file) && !isOfOneLayout(file)) || mayBePending(file)

module.exports = mocharc((file) => isOfProcesses(file) || (isQuick(file) && runsOtherwise(file)))
