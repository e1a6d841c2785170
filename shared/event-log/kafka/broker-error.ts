// Why the default import: Node does not find the names of kafkajs's errors among its exports.
import kafkajs, { type KafkaJSProtocolError } from 'kafkajs'

/** Whether a broker answered with an error. Any other failure is a failure of the connection. */
export const isBrokerError = (err: unknown): err is KafkaJSProtocolError =>
  err instanceof kafkajs.KafkaJSProtocolError

/** Whether a broker will give the same answer again, so that sending again is useless. */
export const isRefusal = (err: unknown): boolean => isBrokerError(err) && !err.retriable
