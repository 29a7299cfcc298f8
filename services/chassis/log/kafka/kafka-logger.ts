/**
 * Routes what kafkajs says to our logger, all of it as detail: what breaks on a connection is
 * reported by the code above, once and with its consequence, and kafkajs would report each attempt
 * as an error.
 */
import type { LogEntry } from 'kafkajs';
import { internals, type WireLogger } from './internals.ts';

/** The part of a pino-like logger that the log needs. */
export type KafkaLogger = Readonly<Record<'debug' | 'info' | 'warn' | 'error', LogMethod>>;

type LogMethod = (fields: object, message: string) => void;

const LEVEL_INFO = 4;
const silence: LogMethod = () => undefined;

export const silentLogger: KafkaLogger = {
  debug: silence,
  info: silence,
  warn: silence,
  error: silence,
};

/** A logger of the kind that kafkajs's classes expect, which writes to ours. */
export function wireLogger(logger: KafkaLogger): WireLogger {
  const write = ({ namespace, label, log }: LogEntry): void => {
    const { message, timestamp: _, logger: _source, stack: _stack, ...fields } = log;
    logger.debug({ ...fields, part: namespace, level: label }, message);
  };
  return internals.createLogger({ level: LEVEL_INFO, logCreator: () => write });
}
