import { firstGeneration } from '../../schemas/topics.ts';
import { samplesOf } from '../chassis/host/host-gauges.ts';
import type { HostPorts } from '../chassis/host/ports.ts';
import { TopicEnds } from '../chassis/host/topic-ends.ts';
import type { PartitionName } from '../chassis/log/port.ts';
import { metrics } from '../chassis/telemetry/metrics.ts';
import { storedTopics } from './stored-topics.ts';

/** How far the stored rows are behind the log, for figures, for health, and as an alarm. */

export type SourceLag = PartitionName &
  Readonly<{
    /** Rows that are read and not known to be stored. */
    rows: number;
    /** Offset after the last record that is known to be stored. */
    next: number;
    /**
     * Age of the oldest record in the log that is not stored, in milliseconds; 0 where there is none. Where the partition
     * cannot be read, for how long.
     */
    oldestMs: number;
    problem?: string;
  }>;

/** From this part of a topic's retention on, what is not stored is about to be forgotten. */
export const retentionAlarmRatio = 0.5;
/** The same is not said again for so long. */
const alarmAgainMs = 3_600_000;
/** A younger record is on its way as always. */
const worthNotingMs = 5_000;

/** Topic -> the greatest age of a record that is not stored, in milliseconds. */
export function oldestByTopic(lag: readonly SourceLag[]): ReadonlyMap<string, number> {
  const oldest = new Map<string, number>();
  for (const { topic, oldestMs } of lag)
    oldest.set(topic, Math.max(oldest.get(topic) ?? 0, oldestMs));
  return oldest;
}

const retentionOf = (topic: string): number | undefined =>
  storedTopics.find(({ name }) => name === firstGeneration(topic))?.retentionMs;

/** Topic -> that age as a part of the topic's retention; only topics that forget by time. */
export function retentionUsed(lag: readonly SourceLag[]): ReadonlyMap<string, number> {
  const used = new Map<string, number>();
  for (const [topic, ageMs] of oldestByTopic(lag)) {
    const retentionMs = retentionOf(topic);
    if (retentionMs !== undefined) used.set(topic, ageMs / retentionMs);
  }
  return used;
}

/** Says in the log of the process when a topic is about to forget what is not stored. */
export class RetentionAlarm {
  private readonly saidAtMs = new Map<string, number>();
  private readonly ports: Pick<HostPorts, 'clock' | 'logger'>;

  constructor(ports: Pick<HostPorts, 'clock' | 'logger'>) {
    this.ports = ports;
  }

  look(lag: readonly SourceLag[]): void {
    const nowMs = this.ports.clock.nowMs();
    for (const [topic, used] of retentionUsed(lag)) {
      const since = nowMs - (this.saidAtMs.get(topic) ?? Number.NEGATIVE_INFINITY);
      if (used < retentionAlarmRatio || since < alarmAgainMs) continue;
      this.saidAtMs.set(topic, nowMs);
      const fix = `bring ClickHouse back, or raise retention.ms of ${topic} until it is`;
      const fields = { code: 'STORE_NEARS_RETENTION', topic, usedPercent: Math.round(used * 100) };
      this.ports.logger.error({ ...fields, fix }, 'records will be gone before they are stored');
    }
  }
}

/** Why the store is not ready, and how far it is behind. */
export function storeHealth(
  lag: readonly SourceLag[],
  waits: string | undefined,
): { reasons: readonly string[]; notes: readonly string[] } {
  const troubled = lag.filter(({ problem }) => problem !== undefined);
  const [first] = troubled;
  const reasons = waits === undefined ? [] : [`ClickHouse is not ready: ${waits}`];
  if (first !== undefined) {
    const where = `${first.topic}/${first.partition}`;
    const more = troubled.length > 1 ? `, and ${troubled.length - 1} more` : '';
    reasons.push(`${where} is not stored (${first.problem})${more}`);
  }
  const oldestMs = Math.max(0, ...lag.map((one) => one.oldestMs));
  if (oldestMs < worthNotingMs) return { reasons, notes: [] };
  const rows = lag.reduce((sum, one) => sum + one.rows, 0);
  const seconds = Math.round(oldestMs / 1_000);
  return { reasons, notes: [`${rows} rows wait to be stored, the oldest for ${seconds} s`] };
}

/** Measures the store for who asks. Answers what stops it. */
export function measureStore(
  ports: HostPorts,
  lagOf: () => readonly SourceLag[],
): (() => void) | undefined {
  if (ports.figures === undefined) return undefined;
  const { meter } = ports.figures;
  const topicsOf = (): readonly string[] => [...new Set(lagOf().map(({ topic }) => topic))];
  const ends = new TopicEnds(ports, topicsOf);
  ends.start();
  const inSeconds = (lag: readonly SourceLag[]): ReadonlyMap<string, number> =>
    new Map([...oldestByTopic(lag)].map(([topic, ms]) => [topic, ms / 1_000]));
  meter.gauge(metrics.storeLag, () =>
    samplesOf(ends.behind(lagOf().map((one) => ({ ...one, offset: one.next })))),
  );
  meter.gauge(metrics.storeLagAge, () => samplesOf(inSeconds(lagOf())));
  meter.gauge(metrics.storeRetentionUsed, () => samplesOf(retentionUsed(lagOf())));
  meter.gauge(metrics.storeTroubles, () => {
    const value = lagOf().filter(({ problem }) => problem !== undefined).length;
    return [{ labels: [], value }];
  });
  return () => ends.stop();
}
