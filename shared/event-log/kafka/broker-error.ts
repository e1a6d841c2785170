// Why the default import: Node does not see the names of kafkajs's errors among its exports.
import kafkajs, { type KafkaJSProtocolError } from 'kafkajs'

/** Whether a broker answered, and refused; anything else that fails is the connection. */
export const isBrokerError = (err: unknown): err is KafkaJSProtocolError =>
  err instanceof kafkajs.KafkaJSProtocolError

/** What a broker will say again: sending once more is of no use. */
export const isRefusal = (err: unknown): boolean => isBrokerError(err) && !err.retriable
