import { characterCount } from '../../../shared/domain/character-count.ts'
import type { Properties } from '../../../shared/domain/properties.ts'
import type { CloudEventKey } from '../../../shared/domain/usage-event.ts'
import { parseTime } from '../../../shared/time/parse-time.ts'
import { type Fault, impossible, malformed } from '../faults.ts'

/** A CloudEvent whose attributes are well-formed. */
export interface CheckedCloudEvent {
  key: CloudEventKey
  /** An account, by its id or its external id. */
  subject: string
  /** The event type of metrics, or a currency. */
  type: string
  /** Unix seconds. */
  occurredAt: number
  data: Properties
}

/** The maximum length of `id` and `source`, in characters. */
const NAME_CHARACTERS_MAX = 512
/** The largest time that an event's id can represent. */
const LAST_SECOND = 0xff_ff_ff_ff
const JSON_TYPE = /^application\/json[ \t]*(?:;|$)/i
const NO_DATA: Properties = {}

/**
 * Checks the attributes of a CloudEvent in JSON. Attributes that are null count as absent, as in the JSON format of
 * CloudEvents. Attributes that are not used may have any value.
 *
 * @param event a parsed JSON value
 */
export function checkCloudEvent(event: unknown): CheckedCloudEvent | Fault {
  if (!isObject(event)) return malformed('must be a CloudEvent, which is an object')
  if (event['specversion'] !== '1.0') return malformed('specversion: must be "1.0"')
  for (const name of ['id', 'source', 'type', 'subject'] as const) {
    const fault = findTextFault(event[name], name === 'id' || name === 'source')
    if (fault !== undefined) return malformed(`${name}: ${fault}`)
  }
  const dataFault = findDataFault(event)
  if (dataFault !== undefined) return malformed(dataFault)
  const time = secondOf(event['time'])
  if (typeof time !== 'number') return time
  const { id, source, type, subject } = event as Record<string, string>
  return {
    key: { kind: 'cloudevent', source: source as string, id: id as string },
    subject: subject as string,
    type: type as string,
    occurredAt: time,
    data: (event['data'] ?? NO_DATA) as Properties,
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The reason, as the end of a sentence, why an attribute is not a text that can be compared with others. */
function findTextFault(value: unknown, isBounded: boolean): string | undefined {
  if (value === undefined || value === null) return 'is required'
  if (typeof value !== 'string') return 'must be text'
  if (value === '') return 'must not be empty'
  if (value.includes('\0') || !value.isWellFormed())
    return 'holds a NUL character or half of a surrogate pair'
  // Why characters are not always counted: a text never has more characters than code units.
  if (isBounded && value.length > NAME_CHARACTERS_MAX && characterCount(value) > NAME_CHARACTERS_MAX)
    return `has more than ${NAME_CHARACTERS_MAX} characters`
  return undefined
}

function findDataFault(event: Record<string, unknown>): string | undefined {
  const { data, data_base64: base64, datacontenttype: type } = event
  if (base64 !== undefined && base64 !== null) return 'data_base64: only JSON data is taken, in data'
  if (type !== undefined && type !== null && !(typeof type === 'string' && JSON_TYPE.test(type)))
    return 'datacontenttype: must be application/json'
  return data === undefined || data === null || isObject(data) ? undefined : 'data: must be an object'
}

/** The time of a CloudEvent in Unix seconds, or the fault of the time. */
function secondOf(time: unknown): number | Fault {
  if (time === undefined || time === null) return impossible('time: is needed, so that a repeat counts once')
  const second = typeof time === 'string' ? parseTime(time) : undefined
  if (second === undefined)
    return malformed('time: must be a time as in RFC 3339, such as "2026-01-31T12:00:00Z"')
  // Every namespace's time is within this range. reportUsage compares the time with it.
  if (second < 0) return impossible('time: lies more than five years back')
  if (second > LAST_SECOND) return impossible('time: lies more than five minutes ahead')
  return second
}
