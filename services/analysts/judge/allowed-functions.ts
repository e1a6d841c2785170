/**
 * The functions that analysts may use, by their canonical names. It is a closed list, so a function of a new version of
 * the engine stays refused until somebody has checked it.
 *
 * Left out on purpose are functions that
 *
 * - read files or other tables (file, dictGet, joinGet, catboostEvaluate);
 * - call other servers (ai...);
 * - show something about the machine or the process (hostName, getSetting, serverUUID ...);
 * - take the name of a function or of a format as text (arrayReduce, formatRow, initializeAggregation);
 * - work on inner states of aggregate functions;
 * - can keep a core busy past any time limit (editDistance, arrayFold, hasAll, sequenceMatch);
 * - have the name of a table function, too (file).
 */
const SCALAR = {
  // Comparison, logic, conditions, nulls
  comparison: `
  equals globalIn globalNotIn globalNotNullIn globalNullIn greater greaterOrEquals in isDistinctFrom
  isNotDistinctFrom less lessOrEquals notEquals notIn notNullIn nullIn and not or xor clamp greatest if least
  multiIf assumeNotNull coalesce firstNonDefault ifNull isNotNull isNull isNullable isZeroOrNull nullIf toNullable
  caseWithExpression`,
  // Arithmetic, rounding, mathematics, bits
  arithmetic: `
  abs avg2 divide divideDecimal divideOrNull gcd ifNotFinite intDiv intDivOrNull intDivOrZero isFinite isInfinite
  isNaN lcm max2 midpoint min2 minus modulo moduloOrNull moduloOrZero multiply multiplyDecimal negate plus
  positiveModulo positiveModuloOrNull sqr ceil floor round roundAge roundBankers roundDown roundDuration roundToExp2
  trunc acos acosh asin asinh atan atan2 atanh cbrt cos cosh degrees e erf erfc exp exp10 exp2 factorial hypot
  intExp10 intExp2 isPrime lgamma log log10 log1p log2 pi pow radians sigmoid sign sin sinh sqrt tan tanh tgamma
  widthBucket bitAnd bitCount bitNot bitOr bitShiftLeft bitShiftRight bitTest bitXor`,
  // Dates and times
  dates: `
  UTCTimestamp YYYYMMDDToDate YYYYMMDDToDate32 YYYYMMDDhhmmssToDateTime YYYYMMDDhhmmssToDateTime64 addDate addDays
  addHours addInterval addMicroseconds addMilliseconds addMinutes addMonths addNanoseconds addQuarters addSeconds
  addWeeks addYears age changeDay changeHour changeMinute changeMonth changeSecond changeYear dateDiff dateName
  dateTrunc formatDateTime formatDateTimeInJodaSyntax fromDaysSinceYearZero fromDaysSinceYearZero32
  fromModifiedJulianDay fromModifiedJulianDayOrNull fromUTCTimestamp fromUnixTimestamp fromUnixTimestampInJodaSyntax
  localtime makeDate makeDate32 makeDateTime makeDateTime64 monthName now now64 serverTimezone subDate subtractDays
  subtractHours subtractInterval subtractMicroseconds subtractMilliseconds subtractMinutes subtractMonths
  subtractNanoseconds subtractQuarters subtractSeconds subtractWeeks subtractYears timeDiff timeSlot timestamp
  timezone timezoneOf timezoneOffset toDayOfMonth toDayOfWeek toDayOfYear toDaysInMonth toDaysSinceYearZero toHour
  toISOWeek toISOYear toLastDayOfMonth toLastDayOfWeek toMicrosecond toMillisecond toMinute toModifiedJulianDay
  toModifiedJulianDayOrNull toMonday toMonth toMonthNumSinceEpoch toNanosecond toQuarter toRelativeDayNum
  toRelativeHourNum toRelativeMinuteNum toRelativeMonthNum toRelativeQuarterNum toRelativeSecondNum
  toRelativeWeekNum toRelativeYearNum toSecond toStartOfDay toStartOfFifteenMinutes toStartOfFiveMinutes
  toStartOfHour toStartOfISOYear toStartOfInterval toStartOfMicrosecond toStartOfMillisecond toStartOfMinute
  toStartOfMonth toStartOfNanosecond toStartOfQuarter toStartOfSecond toStartOfTenMinutes toStartOfWeek
  toStartOfYear toTimeWithFixedDate toTimezone toUTCTimestamp toUnixTimestamp toWeek toYYYYMM toYYYYMMDD
  toYYYYMMDDhhmmss toYear toYearNumSinceEpoch toYearWeek today yesterday`,
  // Strings
  strings: `
  ascii base64Decode base64Encode base64URLDecode base64URLEncode tryBase64Decode tryBase64URLDecode concat
  concatWithSeparator conv endsWith endsWithCaseInsensitive firstLine initcap isValidUTF8 isValidASCII left leftUTF8
  lengthUTF8 lower lowerUTF8 regexpExtract regexpPosition reverseUTF8 right rightUTF8
  startsWith startsWithCaseInsensitive substring substringUTF8 substringIndex
  leftPad leftPadUTF8 repeat rightPad rightPadUTF8 toValidUTF8 trimBoth trimLeft trimRight upper upperUTF8 regexpQuoteMeta replaceAll replaceOne replaceRegexpAll
  replaceRegexpOne translate overlay countMatches countMatchesCaseInsensitive countSubstrings
  countSubstringsCaseInsensitive extract extractAll extractAllGroupsHorizontal extractAllGroupsVertical
  extractGroups hasSubsequence hasSubsequenceCaseInsensitive hasToken hasTokenCaseInsensitive ilike like locate
  match notILike notLike position positionCaseInsensitive positionUTF8 positionCaseInsensitiveUTF8 format printf alphaTokens arrayStringConcat
  splitByChar splitByNonAlpha splitByRegexp splitByString splitByWhitespace hex unhex bin unbin char visibleWidth`,
  // JSON
  json: `
  JSONAllPaths JSONAllPathsWithTypes JSONArrayLength JSONExtract JSONExtractArrayRaw
  JSONExtractArrayRawCaseInsensitive JSONExtractBool JSONExtractBoolCaseInsensitive JSONExtractCaseInsensitive
  JSONExtractFloat JSONExtractFloatCaseInsensitive JSONExtractInt JSONExtractIntCaseInsensitive JSONExtractKeys
  JSONExtractKeysAndValues JSONExtractKeysAndValuesCaseInsensitive JSONExtractKeysAndValuesRaw
  JSONExtractKeysAndValuesRawCaseInsensitive JSONExtractKeysCaseInsensitive JSONExtractRaw
  JSONExtractRawCaseInsensitive JSONExtractString JSONExtractStringCaseInsensitive JSONExtractUInt
  JSONExtractUIntCaseInsensitive JSONHas JSONKey JSONLength JSONType JSON_EXISTS JSON_QUERY JSON_VALUE
  dynamicElement dynamicType getSubcolumn isValidJSON simpleJSONExtractBool simpleJSONExtractFloat simpleJSONExtractInt
  simpleJSONExtractRaw simpleJSONExtractString simpleJSONExtractUInt simpleJSONHas toJSONString`,
  // Arrays, maps, tuples
  collections: `
  array arrayAll arrayAvg arrayBottomK arrayCompact arrayConcat arrayCount arrayCumSum arrayCumSumNonNegative
  arrayDifference arrayDistinct arrayDotProduct arrayElement arrayElementOrNull arrayEnumerate arrayEnumerateDense
  arrayEnumerateDenseRanked arrayEnumerateUniq arrayEnumerateUniqRanked arrayExcept arrayExists arrayFill
  arrayFilter arrayFirst arrayFirstIndex arrayFirstOrNull arrayFlatten arrayIntersect arrayJaccardIndex arrayJoin
  arrayLast arrayLastIndex arrayLastOrNull arrayMap arrayMax arrayMin arrayPopBack arrayPopFront arrayProduct
  arrayPushBack arrayPushFront arrayRemove arrayResize arrayReverse arrayReverseFill arrayReverseSort
  arrayReverseSplit arrayRotateLeft arrayRotateRight arrayShiftLeft arrayShiftRight arraySlice arraySort arraySplit
  arraySum arraySymmetricDifference arrayTopK arrayUnion arrayUniq arrayZip arrayZipUnaligned countEqual empty has
  indexOf indexOfAssumeSorted length notEmpty range reverse map mapAdd mapAll mapApply
  mapConcat mapContainsKey mapContainsKeyLike mapContainsValue mapContainsValueLike mapExists mapExtractKeyLike
  mapExtractValueLike mapFilter mapFromArrays mapKeys mapReverseSort mapSort mapSubtract mapUpdate mapValues tuple
  tupleElement tupleConcat tupleNames flattenTuple tupleToNameValuePairs tuplePlus tupleMinus`,
  // Conversion
  conversion: `
  CAST DATE accurateCast accurateCastOrDefault accurateCastOrNull fromUnixTimestamp64Micro fromUnixTimestamp64Milli
  fromUnixTimestamp64Nano fromUnixTimestamp64Second parseDateTime parseDateTime32BestEffort
  parseDateTime32BestEffortOrNull parseDateTime32BestEffortOrZero parseDateTime64 parseDateTime64BestEffort
  parseDateTime64BestEffortOrNull parseDateTime64BestEffortOrZero parseDateTime64BestEffortUS
  parseDateTime64BestEffortUSOrNull parseDateTime64BestEffortUSOrZero parseDateTime64InJodaSyntax
  parseDateTime64InJodaSyntaxOrNull parseDateTime64InJodaSyntaxOrZero parseDateTime64OrNull parseDateTime64OrZero
  parseDateTimeBestEffort parseDateTimeBestEffortOrNull parseDateTimeBestEffortOrZero parseDateTimeBestEffortUS
  parseDateTimeBestEffortUSOrNull parseDateTimeBestEffortUSOrZero parseDateTimeInJodaSyntax
  parseDateTimeInJodaSyntaxOrNull parseDateTimeInJodaSyntaxOrZero parseDateTimeOrNull parseDateTimeOrZero toBFloat16
  toBFloat16OrNull toBFloat16OrZero toBool toDate toDate32 toDate32OrDefault toDate32OrNull toDate32OrZero
  toDateOrDefault toDateOrNull toDateOrZero toDateTime toDateTime32 toDateTime64 toDateTime64OrDefault
  toDateTime64OrNull toDateTime64OrZero toDateTimeOrDefault toDateTimeOrNull toDateTimeOrZero toDecimal128
  toDecimal128OrDefault toDecimal128OrNull toDecimal128OrZero toDecimal256 toDecimal256OrDefault toDecimal256OrNull
  toDecimal256OrZero toDecimal32 toDecimal32OrDefault toDecimal32OrNull toDecimal32OrZero toDecimal64
  toDecimal64OrDefault toDecimal64OrNull toDecimal64OrZero toDecimalString toFixedString toFloat32
  toFloat32OrDefault toFloat32OrNull toFloat32OrZero toFloat64 toFloat64OrDefault toFloat64OrNull toFloat64OrZero
  toInt128 toInt128OrDefault toInt128OrNull toInt128OrZero toInt16 toInt16OrDefault toInt16OrNull toInt16OrZero
  toInt256 toInt256OrDefault toInt256OrNull toInt256OrZero toInt32 toInt32OrDefault toInt32OrNull toInt32OrZero
  toInt64 toInt64OrDefault toInt64OrNull toInt64OrZero toInt8 toInt8OrDefault toInt8OrNull toInt8OrZero toInterval
  toIntervalDay toIntervalHour toIntervalMicrosecond toIntervalMillisecond toIntervalMinute toIntervalMonth
  toIntervalNanosecond toIntervalQuarter toIntervalSecond toIntervalWeek toIntervalYear toLowCardinality toString
  toStringCutToZero toTime toTime64 toTime64OrNull toTime64OrZero toTimeOrNull toTimeOrZero toUInt128
  toUInt128OrDefault toUInt128OrNull toUInt128OrZero toUInt16 toUInt16OrDefault toUInt16OrNull toUInt16OrZero
  toUInt256 toUInt256OrDefault toUInt256OrNull toUInt256OrZero toUInt32 toUInt32OrDefault toUInt32OrNull
  toUInt32OrZero toUInt64 toUInt64OrDefault toUInt64OrNull toUInt64OrZero toUInt8 toUInt8OrDefault toUInt8OrNull
  toUInt8OrZero toUUID toUUIDOrZero toUnixTimestamp64Micro toUnixTimestamp64Milli toUnixTimestamp64Nano
  toUnixTimestamp64Second _CAST dynamicElement dynamicType toUUIDOrNull toUUIDOrDefault`,
  // Hashes
  hashes: `
  CRC32 MD5 SHA1 SHA224 SHA256 SHA512 cityHash64 farmHash64 halfMD5 intHash32 intHash64 murmurHash3_32
  murmurHash3_64 murmurHash3_128 sipHash64 sipHash128 xxHash32 xxHash64 xxh3`,
  // Addresses
  addresses: `
  IPv4NumToString IPv4StringToNum IPv4StringToNumOrNull IPv6NumToString IPv6StringToNum isIPAddressInRange
  isIPv4String isIPv6String toIPv4 toIPv4OrNull toIPv6 toIPv6OrNull cutFragment cutQueryString
  cutToFirstSignificantSubdomain cutURLParameter cutWWW decodeURLComponent domain domainWithoutWWW
  encodeURLComponent extractURLParameter extractURLParameterNames extractURLParameters firstSignificantSubdomain
  fragment netloc path pathFull port protocol queryString topLevelDomain`,
  // Functions that clients and dashboards use
  others: `
  bar currentDatabase currentUser formatReadableDecimalSize formatReadableQuantity formatReadableSize
  formatReadableTimeDelta generateUUIDv4 identity ignore isDecimalOverflow materialize parseReadableSize
  parseReadableSizeOrNull parseTimeDelta property rand rand64 randCanonical revision seriesOutliersDetectTukey throwIf toTypeName transform version`,
}

const AGGREGATE = `
  any anyHeavy anyLast anyLast_respect_nulls any_respect_nulls approx_top_k approx_top_sum argAndMax argAndMin
  argMax argMin avg avgWeighted boundingRatio corr corrStable count covarPop covarPopStable covarSamp
  covarSampStable cume_dist distinctDynamicTypes distinctJSONPaths distinctJSONPathsAndTypes deltaSum deltaSumTimestamp denseRank entropy exponentialMovingAverage
  exponentialTimeDecayedAvg exponentialTimeDecayedCount exponentialTimeDecayedMax exponentialTimeDecayedSum
  groupArray groupArrayLast groupArrayMovingAvg groupArrayMovingSum groupArraySample groupArraySorted groupBitAnd
  groupBitOr groupBitXor groupConcat groupUniqArray histogram intervalLengthSum kurtPop kurtSamp lag lagInFrame
  largestTriangleThreeBuckets lead
  leadInFrame max maxIntersections maxIntersectionsPosition min nonNegativeDerivative nth_value ntile percentRank
  quantile quantileBFloat16 quantileBFloat16Weighted quantileDD quantileExact quantileExactExclusive
  quantileExactHigh quantileExactInclusive quantileExactLow quantileExactWeighted quantileExactWeightedInterpolated
  quantileGK quantileInterpolatedWeighted quantileTDigest quantileTDigestWeighted quantileTiming
  quantileTimingWeighted quantiles quantilesBFloat16 quantilesBFloat16Weighted quantilesDD quantilesExact
  quantilesExactExclusive quantilesExactHigh quantilesExactInclusive quantilesExactLow quantilesExactWeighted
  quantilesExactWeightedInterpolated quantilesGK quantilesInterpolatedWeighted quantilesTDigest
  quantilesTDigestWeighted quantilesTiming quantilesTimingWeighted rank retention row_number simpleLinearRegression
  singleValueOrNull
  skewPop skewSamp sparkbar stddevPop stddevPopStable stddevSamp stddevSampStable sum sumCount sumKahan
  sumMappedArrays topK topKWeighted uniq uniqCombined uniqCombined64 uniqExact uniqHLL12 uniqUpTo varPop
  varPopStable varSamp varSampStable windowFunnel`

const namesOf = (text: string): string[] => text.trim().split(/\s+/)

export const ALLOWED_FUNCTIONS: ReadonlySet<string> = new Set(Object.values(SCALAR).flatMap(namesOf))

/** Aggregate and window functions; their names may be followed by combinators such as `If`. */
export const ALLOWED_AGGREGATES: ReadonlySet<string> = new Set(namesOf(AGGREGATE))

/** Functions of the parser and the analyzer; the engine's own lists of functions do not have them. */
export const PARSER_FUNCTIONS: ReadonlySet<string> = new Set(['exists', 'grouping', 'lambda', 'untuple'])

/**
 * For each function, the index (from 0) of the first argument that can be a time zone. The list was found by calling
 * each allowed function with an invalid time zone in each place (allowed-functions.test.ts).
 */
const ZONE_ARGUMENT = {
  0: `
  now`,
  1: `
  DATE YYYYMMDDhhmmssToDateTime fromUTCTimestamp fromUnixTimestamp64Micro fromUnixTimestamp64Milli
  fromUnixTimestamp64Nano fromUnixTimestamp64Second now64 parseDateTime32BestEffort parseDateTime32BestEffortOrNull
  parseDateTime32BestEffortOrZero parseDateTimeBestEffort parseDateTimeBestEffortOrNull
  parseDateTimeBestEffortOrZero parseDateTimeBestEffortUS parseDateTimeBestEffortUSOrNull
  parseDateTimeBestEffortUSOrZero timeSlot timezoneOffset toDate toDate32 toDateTime toDateTime32
  toDateTimeOrDefault toDateTimeOrNull toDateTimeOrZero toDayOfMonth toDayOfYear toDaysInMonth toDaysSinceYearZero
  toHour toISOWeek toISOYear toLastDayOfMonth toMicrosecond toMillisecond toMinute toMonday toMonth
  toMonthNumSinceEpoch toNanosecond toQuarter toRelativeDayNum toRelativeHourNum toRelativeMinuteNum
  toRelativeMonthNum toRelativeQuarterNum toRelativeSecondNum toRelativeWeekNum toRelativeYearNum toSecond
  toStartOfDay toStartOfFifteenMinutes toStartOfFiveMinutes toStartOfHour toStartOfISOYear toStartOfMicrosecond
  toStartOfMillisecond toStartOfMinute toStartOfMonth toStartOfNanosecond toStartOfQuarter toStartOfSecond
  toStartOfTenMinutes toStartOfYear toString toTimeWithFixedDate toTimezone toUTCTimestamp toUnixTimestamp toYYYYMM
  toYYYYMMDD toYYYYMMDDhhmmss toYear toYearNumSinceEpoch`,
  2: `
  YYYYMMDDhhmmssToDateTime64 addDays addHours addMicroseconds addMilliseconds addMinutes addMonths addNanoseconds
  addQuarters addSeconds addWeeks addYears dateName dateTrunc formatDateTime formatDateTimeInJodaSyntax
  fromUnixTimestamp fromUnixTimestampInJodaSyntax parseDateTime parseDateTime64 parseDateTime64BestEffort
  parseDateTime64BestEffortOrNull parseDateTime64BestEffortOrZero parseDateTime64BestEffortUS
  parseDateTime64BestEffortUSOrNull parseDateTime64BestEffortUSOrZero parseDateTime64InJodaSyntax
  parseDateTime64InJodaSyntaxOrNull parseDateTime64InJodaSyntaxOrZero parseDateTime64OrNull parseDateTime64OrZero
  parseDateTimeInJodaSyntax parseDateTimeInJodaSyntaxOrNull parseDateTimeInJodaSyntaxOrZero parseDateTimeOrNull
  parseDateTimeOrZero subtractDays subtractHours subtractMicroseconds subtractMilliseconds subtractMinutes
  subtractMonths subtractNanoseconds subtractQuarters subtractSeconds subtractWeeks subtractYears toDateTime64
  toDateTime64OrDefault toDateTime64OrNull toDateTime64OrZero toDayOfWeek toLastDayOfWeek toStartOfInterval
  toStartOfWeek toWeek toYearWeek`,
  3: `
  age dateDiff`,
  6: `
  makeDateTime`,
  8: `
  makeDateTime64`,
}

export const ZONE_ARGUMENT_OF: ReadonlyMap<string, number> = new Map(
  Object.entries(ZONE_ARGUMENT).flatMap(([index, names]) =>
    namesOf(names).map((name) => [name, Number(index)] as const),
  ),
)

/**
 * Functions that search for one argument in another: most for the second, `splitByString` for the first, `locate` for
 * either. Somebody can make long texts with which such a search runs for hours, and no time limit ends it. So the text
 * that is searched for must be a short literal.
 */
export const SEARCHING: ReadonlySet<string> = new Set(
  namesOf(`countSubstrings countSubstringsCaseInsensitive hasSubsequence hasSubsequenceCaseInsensitive locate position
  positionCaseInsensitive positionCaseInsensitiveUTF8 positionUTF8 replaceAll replaceOne splitByString substringIndex`),
)

/**
 * Functions that go through a list or a map for each value they search for. If both are computed, even a short query
 * can run for hours. So the value or the list must be a literal.
 */
export const LOOKING_THROUGH: ReadonlySet<string> = new Set(
  namesOf('countEqual has indexOf indexOfAssumeSorted mapContainsKey mapContainsValue'),
)

/**
 * Functions that make a short text longer. The length, or the number of repetitions, must be a literal. The text of
 * `repeat` must be a literal, too: calls within calls would multiply the length.
 */
export const PADDING: ReadonlySet<string> = new Set(
  namesOf('leftPad leftPadUTF8 repeat rightPad rightPadUTF8'),
)

/**
 * Functions whose first argument is a text with places for the other arguments. It must be a short literal without
 * large widths.
 */
export const FORMATTING: ReadonlySet<string> = new Set(namesOf('format printf'))

/** For each function, the index (from 0) of the argument that is a regular expression or a pattern of LIKE. */
export const PATTERN_ARGUMENT_OF: ReadonlyMap<string, number> = new Map([
  ['splitByRegexp', 0],
  ...namesOf(`countMatches countMatchesCaseInsensitive extract extractAll extractAllGroupsHorizontal
  extractAllGroupsVertical extractGroups ilike like mapContainsKeyLike mapContainsValueLike mapExtractKeyLike
  mapExtractValueLike match notILike notLike regexpExtract regexpPosition replaceRegexpAll replaceRegexpOne`).map(
    (name) => [name, 1] as const,
  ),
])

/** For each function, the index of the argument that is the name of a data type: from 0, or negative from the end. */
export const TYPE_ARGUMENT_OF: ReadonlyMap<string, number> = new Map([
  ['CAST', 1],
  ['_CAST', 1],
  ['accurateCast', 1],
  ['accurateCastOrDefault', 1],
  ['accurateCastOrNull', 1],
  ['dynamicElement', 1],
  ['JSONExtract', -1],
  ['JSONExtractCaseInsensitive', -1],
  ['JSONExtractKeysAndValues', -1],
  ['JSONExtractKeysAndValuesCaseInsensitive', -1],
])
