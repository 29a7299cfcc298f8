/**
 * The topology as data: creation, docs, access rules and tests derive from it (DESIGN 2). Partition counts are the
 * configured number for session-like topics, fixed for the others.
 */
export type TopicDefinition = Readonly<{
  name: string;
  key: string;
  kind: 'session-log' | 'public' | 'state' | 'presence' | 'stream';
  /** `configured`: the number that the installation fixed for session logs. */
  partitions: 'configured' | number;
  cleanup: 'delete' | 'compact';
  /** Undefined: kept until it is trimmed below every watermark (DESIGN 3.11). */
  retentionMs?: number;
  writers: readonly string[];
  readers: readonly string[];
}>;

export const lanes = ['high', 'normal', 'bulk'] as const;
export type Lane = (typeof lanes)[number];

const dayMs = 86_400_000;
export const sessionTopic = (lane: string): string => `longrein.sessions.${lane}`;
/**
 * After a rescale new sessions live in the next generation of a lane: a topic of its own with another number of
 * partitions. The lane that a goal log names says the generation too, so whoever follows it finds the right topic.
 */
export const laneAt = (lane: string, generation: number): string =>
  generation === 1 ? lane : `${lane}.g${generation}`;
/** The topic of the first generation; itself for every topic that has no generations. */
export const firstGeneration = (topic: string): string => topic.replace(/\.g[1-9]\d*$/, '');
export const goalsTopic = 'longrein.goals';
export const resultsTopic = 'longrein.results';
/** Requests out, decisions in. */
export const approvalsTopic = 'longrein.approvals';
export const keysTopic = 'longrein.keys';
/** What tenants may spend in a day: one log for each tenant and day. */
export const budgetsTopic = 'longrein.budgets';
/** Who may begin in a pool that has limits: one log for each such pool. */
export const poolsTopic = 'longrein.pools';
/** The event store's own logs: which ranges of which partitions are fixed and stored. */
export const sinksTopic = 'longrein.sinks';
export const watermarksTopic = 'longrein.watermarks';
export const presenceTopic = 'longrein.presence';
export const deadLettersTopic = 'longrein.dead-letters';
export const registryTopic = 'longrein.registry';
/** What models say while they say it: for who watches, never for who decides. */
export const tokensTopic = 'longrein.tokens';

const everyService = ['all services'];

function sessionLog(
  name: string,
  key: string,
  who: readonly string[],
  alsoFrom: readonly string[] = [],
): TopicDefinition {
  const partitions = 'configured';
  return {
    name,
    key,
    kind: 'session-log',
    partitions,
    cleanup: 'delete',
    writers: [...who, ...alsoFrom],
    readers: who,
  };
}

function publicTopic(
  name: string,
  key: string,
  who: { from: string[]; to: string[] },
): TopicDefinition {
  const retentionMs = 30 * dayMs;
  const common = { kind: 'public', partitions: 'configured', cleanup: 'delete' } as const;
  return { name, key, ...common, retentionMs, writers: who.from, readers: who.to };
}

function stateTopic(name: string, key: string): TopicDefinition {
  const common = { kind: 'state', partitions: 1, cleanup: 'compact' } as const;
  return { name, key, ...common, writers: everyService, readers: everyService };
}

export const topics: readonly TopicDefinition[] = [
  publicTopic(goalsTopic, 'goal id', { from: ['other systems', 'cli'], to: ['intake'] }),
  ...lanes.map((lane) => sessionLog(sessionTopic(lane), 'session id', everyService, ['console'])),
  publicTopic(resultsTopic, 'session id', {
    from: ['aggregator', 'intake'],
    to: ['other systems'],
  }),
  publicTopic(approvalsTopic, 'session id', {
    from: ['tool-guard', 'console', 'other systems'],
    to: ['other systems', 'intake'],
  }),
  sessionLog(keysTopic, 'goal log id or key log id', ['intake', 'aggregator'], ['supervisor']),
  sessionLog(budgetsTopic, 'budget log id', ['model-gateway']),
  sessionLog(poolsTopic, 'pool log id', ['supervisor']),
  sessionLog(sinksTopic, 'topic/partition that is stored', ['event-store']),
  stateTopic(watermarksTopic, 'service, topic, partition'),
  stateTopic(registryTopic, 'kind, name'),
  {
    name: presenceTopic,
    key: 'instance',
    kind: 'presence',
    partitions: 1,
    cleanup: 'delete',
    retentionMs: dayMs / 24,
    writers: everyService,
    readers: everyService,
  },
  {
    name: tokensTopic,
    key: 'session id',
    kind: 'stream',
    partitions: 'configured',
    cleanup: 'delete',
    retentionMs: dayMs / 288,
    writers: ['model-gateway'],
    readers: ['other systems', 'cli', 'console'],
  },
  publicTopic(deadLettersTopic, 'source key', { from: ['any'], to: ['cli', 'console'] }),
];

/** A dead letter holds the bytes of another record in base64, and what is said of them. */
const deadLetterBytesMax = (recordBytesMax: number): number =>
  Math.ceil(recordBytesMax / 3) * 4 + 65_536;

/** Only closed segments are compacted, and every host reads all of it at its start: they are small. */
const compacted = {
  'min.cleanable.dirty.ratio': '0.5',
  'segment.ms': String(dayMs / 24),
  'segment.bytes': '16777216',
} as const;

/**
 * Settings of a topic at the broker, as text. With three copies and up, a write counts once two brokers have it: said
 * per topic, because brokers from 4.1 on no longer take it from their own settings. With `fsync` it is on disk first: what
 * a single broker has to do where the machine's power may fail.
 */
export function topicConfig(
  topic: TopicDefinition,
  recordBytesMax: number,
  { replication = 1, fsync = false }: Readonly<{ replication?: number; fsync?: boolean }> = {},
): Record<string, string> {
  const compact = topic.cleanup === 'compact';
  const isDeadLetters = topic.name === deadLettersTopic;
  const bytesMax = isDeadLetters ? deadLetterBytesMax(recordBytesMax) : recordBytesMax;
  return {
    'cleanup.policy': topic.cleanup,
    'retention.ms': String(topic.retentionMs ?? -1),
    'retention.bytes': '-1',
    'max.message.bytes': String(bytesMax),
    'message.timestamp.type': 'CreateTime',
    ...(replication >= 3 ? { 'min.insync.replicas': '2' } : {}),
    ...(fsync ? { 'flush.messages': '1' } : {}),
    ...(compact ? compacted : {}),
    // Only closed segments are deleted: what was watched goes within minutes.
    ...(topic.kind === 'stream' ? { 'segment.ms': '60000' } : {}),
  };
}

export const partitionsOf = (topic: TopicDefinition, configured: number): number =>
  topic.partitions === 'configured' ? configured : topic.partitions;
