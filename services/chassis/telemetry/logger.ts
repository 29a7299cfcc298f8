import { pino } from 'pino';
import type { Logger } from '../host/ports.ts';
import { type Masks, textMask, usualMasks } from './masks.ts';
import { maskSecrets, redact } from './redact.ts';

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/** JSON lines without secrets and personal data, on standard error; standard output belongs to answers. */
export function createLogger(
  level: LogLevel,
  bindings: object = {},
  masks: Masks = usualMasks,
): Logger {
  const covering = { text: textMask(masks), fields: masks.fields };
  const logger = pino({ level, base: { ...bindings } }, pino.destination({ fd: 2, sync: true }));
  const line = (name: 'debug' | 'info' | 'warn' | 'error') => (fields: object, message: string) => {
    if (logger.isLevelEnabled(name))
      logger[name](redact(fields, covering), covering.text(maskSecrets(message)));
  };
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}
