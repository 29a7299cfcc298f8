import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { type AblatableRule, rulesNamed } from '../../services/chassis/ablation.ts';
import { LongreinError, toError } from '../../services/chassis/errors.ts';
import type { Action, Schedule } from './world/schedule-shape.ts';

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
  burstMs: ms.default(0),
  store: z.boolean().default(false),
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

const widthMax = 100;

const isObject = (value: unknown): value is object => value !== null && typeof value === 'object';

/** Members of a list or an object, each with its name where it has one. */
function membersOf(value: object, textOf: (one: unknown) => string): string[] {
  if (Array.isArray(value)) return value.map(textOf);
  const members = Object.entries(value).filter(([, one]) => one !== undefined);
  return members.map(([name, one]) => `${JSON.stringify(name)}: ${textOf(one)}`);
}

function inOneLine(value: unknown): string {
  if (!isObject(value)) return JSON.stringify(value);
  const members = membersOf(value, inOneLine).join(', ');
  if (Array.isArray(value)) return `[${members}]`;
  return members === '' ? '{}' : `{ ${members} }`;
}

/** Members of the same list that are objects stand on lines of their own. */
const isBroken = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 1 && value.every(isObject) : false;

const hasBroken = (value: unknown): boolean =>
  isBroken(value) || (isObject(value) && Object.values(value).some(hasBroken));

/** JSON as the formatter of this project writes it: an action a line where it fits. */
function laidOut(value: unknown, indent: number, before: number): string {
  const flat = inOneLine(value);
  if (!isObject(value)) return flat;
  if (!hasBroken(value) && indent + before + flat.length < widthMax) return flat;
  const space = ' '.repeat(indent + 2);
  const named = Array.isArray(value)
    ? value.map((one) => ['', one] as const)
    : Object.entries(value).map(([name, one]) => [`${JSON.stringify(name)}: `, one] as const);
  const lines = named
    .filter(([, one]) => one !== undefined)
    .map(([name, one]) => `${space}${name}${laidOut(one, indent + 2, name.length)}`);
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  return `${open}\n${lines.join(',\n')}\n${' '.repeat(indent)}${close}`;
}

/** The text of a stored schedule: an action a line, for people who look at differences. */
export function writtenSchedule({ rule, violates, seeds, schedule }: StoredSchedule): string {
  const { actions, ...rest } = schedule;
  return `${laidOut({ rule, violates, seeds, schedule: { ...rest, actions } }, 0, 0)}\n`;
}
