import {
  firstGeneration,
  laneAt,
  lanes,
  registryTopic,
  sessionTopic,
} from '../../../schemas/topics.ts';
import { toError } from '../errors.ts';
import type { LogRecord } from '../log/port.ts';
import {
  firstTable,
  type LaneTable,
  laneTableKey,
  laneTopics,
  newestGeneration,
  parseLaneTable,
} from './lane-table.ts';
import type { HostPorts } from './ports.ts';
import { StateTopic } from './state-topic.ts';

const laneBases: ReadonlySet<string> = new Set(lanes.map(sessionTopic));

/** Which topics the lanes are made of now: the table in the registry topic, followed (see docs/rescaling.md). */
export class Lanes {
  private readonly topic: StateTopic;
  private readonly ports: Pick<HostPorts, 'log' | 'logger'>;
  private readonly listeners: (() => void)[] = [];
  private known: LaneTable;

  /** `partitions`: of the first generation, by this process's settings, where the registry says nothing. */
  constructor(ports: Pick<HostPorts, 'log' | 'logger'>, partitions: number) {
    this.ports = ports;
    this.known = firstTable(partitions);
    const onRecord = (record: LogRecord): void => this.take(record);
    this.topic = new StateTopic({ ports, topic: registryTopic, onRecord });
  }

  /** Reads what the registry says now, and follows it. */
  async start(): Promise<void> {
    await this.topic.start();
    await this.topic.current();
  }

  stop(): Promise<void> {
    return this.topic.stop();
  }

  get table(): LaneTable {
    return this.known;
  }

  /** Called after each change of the table. */
  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** The lane that a new session of this priority goes to. */
  laneOf(priority: string): string {
    return laneAt(priority, newestGeneration(this.known).generation);
  }

  /** The topics that a service of this topic works on: for a lane, those of all generations in use. */
  topicsOf(topic: string): readonly string[] {
    if (!laneBases.has(topic)) return [topic];
    return laneTopics(this.known)
      .map((one) => one.topic)
      .filter((one) => firstGeneration(one) === topic);
  }

  private take({ key, value }: LogRecord): void {
    if (key !== laneTableKey || value === null) return;
    try {
      this.known = parseLaneTable(value);
    } catch (thrown) {
      this.ports.logger.error({ error: toError(thrown).message }, 'lanes stay as they were');
      return;
    }
    for (const listener of this.listeners) listener();
  }
}
