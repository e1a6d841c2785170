/** A record counts as written once all replicas that keep up have it: Kafka's `acks`. */
export const ALL_IN_SYNC_REPLICAS = -1
