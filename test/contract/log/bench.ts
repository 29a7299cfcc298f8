import type {
  LogPort,
  MembershipHandlers,
  Reader,
  ReaderHandlers,
} from '../../../services/chassis/log/port.ts';

/** What a test gets: a fresh topic each, and logs that are closed afterwards. */
export type Bench = {
  connect(name?: string): LogPort;
  /** Creates a topic with a name of its own and returns the name. */
  topic(partitions: number, config?: Record<string, string>): Promise<string>;
  freshName(): string;
  reader(log: LogPort, handlers: ReaderHandlers): Promise<Reader>;
  join(
    log: LogPort,
    group: string,
    topics: string[],
    handlers: MembershipHandlers,
  ): ReturnType<LogPort['join']>;
};
