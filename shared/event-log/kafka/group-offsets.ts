import type { Position } from '../event-log.ts'
import type { KafkaConnection } from './kafka-connection.ts'

/** The first group of a Kafka waits for the topic of all offsets to be made. */
const COORDINATOR_WITHIN_MS = 10_000

/** Who commits without being a member in Kafka's sense: Kafka takes that as long as the group has no members. */
const NOT_A_MEMBER = { groupGenerationId: -1, memberId: '' }

/**
 * The offsets of a consumer group, kept by Kafka, so that its own tools show the group's lag and can move it. Its members
 * are kept by PostgreSQL: see GroupMembership.
 */
export class GroupOffsets {
  private readonly connection: KafkaConnection
  private readonly topic: string
  private readonly groupId: string

  constructor(connection: KafkaConnection, topic: string, groupId: string) {
    this.connection = connection
    this.topic = topic
    this.groupId = groupId
  }

  /** @returns by partition; those without a commit are left out */
  async fetch(partitions: readonly number[]): Promise<Map<number, number>> {
    const { responses } = await this.connection.usePersistently(async (cluster) => {
      const coordinator = await cluster.findGroupCoordinator({ groupId: this.groupId })
      return coordinator.offsetFetch({
        groupId: this.groupId,
        topics: [{ topic: this.topic, partitions: partitions.map((partition) => ({ partition })) }],
      })
    }, COORDINATOR_WITHIN_MS)
    return new Map(
      responses
        .flatMap((response) => response.partitions)
        .map(({ partition, offset }) => [partition, Number(offset)] as const)
        .filter(([, offset]) => offset >= 0),
    )
  }

  async commit(positions: readonly Position[]): Promise<void> {
    if (positions.length === 0) return
    await this.connection.use(async (cluster) => {
      const coordinator = await cluster.findGroupCoordinator({ groupId: this.groupId })
      await coordinator.offsetCommit({
        groupId: this.groupId,
        ...NOT_A_MEMBER,
        topics: [
          {
            topic: this.topic,
            partitions: positions.map(({ partition, offset }) => ({ partition, offset: String(offset) })),
          },
        ],
      })
    })
  }
}
