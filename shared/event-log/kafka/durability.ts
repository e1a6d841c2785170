/** The value of Kafka's `acks` with which a broker confirms a record only once all in-sync replicas have it. */
export const ALL_IN_SYNC_REPLICAS = -1
