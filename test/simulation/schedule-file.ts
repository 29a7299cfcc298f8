import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { type AblatableRule, rulesNamed } from '../../services/chassis/ablation.ts';
import { LongreinError, toError } from '../../services/chassis/errors.ts';
import type { Action, Schedule } from './world/schedule.ts';

/**
 * A schedule as a file, so that it fails tomorrow as it did today, whatever seeds mean by then. `rule` is the rule that
 * is taken away when it runs, `violates` what a checker then says, `seeds` draw what the schedule leaves open.
 */
export type StoredSchedule = Readonly<{
  rule?: AblatableRule | undefined;
  violates?: string | undefined;
  seeds: readonly number[];
  schedule: Schedule;
}>;

const part = z.number().min(0).max(1);
const ms = z.number().min(0);
const rate = part.default(0);

const scheduleSchema = z.looseObject({
  seed: z.number().int().min(0),
  partitions: z.number().int().min(1).max(16).default(1),
  housekeepingMs: ms.default(300),
  sessionTimeoutMs: ms.default(1_000),
  latencyMs: ms.default(1),
  rates: z.looseObject({ lost: rate, lostAck: rate, delayed: rate, late: rate, refused: rate }),
  trouble: part.default(0),
  actions: z.array(z.looseObject({ atMs: ms, do: z.string() })).min(1),
  calmAtMs: ms,
  freshHost: z.boolean().default(true),
});

const storedSchema = z.object({
  rule: z.string().optional(),
  violates: z.string().optional(),
  seeds: z.array(z.number().int().min(0)).optional(),
  schedule: scheduleSchema,
});

const refused = (path: string, why: string): LongreinError =>
  new LongreinError('SCHEDULE_INVALID', `${path} holds no schedule: ${why}`, {
    fix: 'give a file that `npm run simulate` wrote for a seed that failed',
  });

function parsed(path: string, text: string): z.infer<typeof storedSchema> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (thrown) {
    throw refused(path, toError(thrown).message);
  }
  const read = storedSchema.safeParse(value);
  if (read.success) return read.data;
  const [first] = read.error.issues;
  throw refused(path, `${first?.path.join('.') || 'the file'}: ${first?.message}`);
}

/** Reads a stored schedule. Throws LongreinError SCHEDULE_INVALID, SCHEDULE_UNREADABLE or ABLATION_UNKNOWN. */
export function readSchedule(path: string): StoredSchedule {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (thrown) {
    throw new LongreinError('SCHEDULE_UNREADABLE', `${path}: ${toError(thrown).message}`, {
      fix: 'name a file that is there; `npm run simulate` writes one for each seed that fails',
    });
  }
  const { rule, violates, seeds, schedule } = parsed(path, text);
  const actions = [...(schedule.actions as unknown as Action[])].sort((a, b) => a.atMs - b.atMs);
  return {
    ...(rule === undefined ? {} : { rule: rulesNamed([rule])[0] }),
    violates,
    seeds: seeds ?? [schedule.seed],
    schedule: { ...(schedule as unknown as Schedule), actions },
  };
}

const oneLine = (value: unknown): string => JSON.stringify(value);

/** The text of a stored schedule: one action a line, for people who look at differences. */
export function writtenSchedule({ rule, violates, seeds, schedule }: StoredSchedule): string {
  const { actions, ...rest } = schedule;
  const head = Object.entries({ rule, violates, seeds }).filter(([, value]) => value !== undefined);
  const members = Object.entries(rest).map(([name, value]) => `    "${name}": ${oneLine(value)},`);
  return [
    '{',
    ...head.map(([name, value]) => `  "${name}": ${oneLine(value)},`),
    '  "schedule": {',
    ...members,
    '    "actions": [',
    actions.map((action) => `      ${oneLine(action)}`).join(',\n'),
    '    ]',
    '  }',
    '}',
    '',
  ].join('\n');
}
