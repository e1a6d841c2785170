/** A record counts as written once all in-sync replicas have it: Kafka's `acks`. */
export const ALL_IN_SYNC_REPLICAS = -1
