import { randomUUID } from 'node:crypto';
import type { JsonValue } from '../../schemas/json.ts';
import { goalsTopic } from '../../schemas/topics.ts';
import type { LogPort } from '../chassis/log/port.ts';
import type { GoalName } from './goal-name.ts';
import { type Published, publish } from './publish.ts';

/** What happened; `id` makes a repeat harmless. */
export type SignalOptions = Readonly<{ payload?: JsonValue; id?: string }>;

/** Tells a running goal that something happened. */
export function publishSignal(
  log: LogPort,
  of: GoalName,
  { name, payload, id = randomUUID() }: SignalOptions & Readonly<{ name: string }>,
): Promise<Published> {
  const { goalId, tenant, source } = typeof of === 'string' ? { goalId: of } : of;
  const body = {
    signal: goalId,
    name,
    ...(payload === undefined ? {} : { payload }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(source === undefined ? {} : { source }),
  };
  const headers = { ce_specversion: '1.0', ce_id: id, ce_type: 'longrein.goal-signal.v1' };
  return publish(log, goalsTopic, { key: goalId, headers, body });
}
