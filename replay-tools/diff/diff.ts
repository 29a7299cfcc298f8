import { bodyOf, type Content } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { canonical } from '../../services/chassis/protocol/hash.ts';
import type { Happening, History } from '../read/history.ts';
import { textIn } from '../read/history.ts';
import { type Spent, spentBy } from '../read/spent.ts';
import { statusOf } from '../show/summary.ts';
import { align } from './align.ts';
import { pathOf, type Step } from './path.ts';

/** Two sessions side by side: how they ended, what they took, and where their paths part. */

export type Outcome = Readonly<{
  session: string;
  status: string;
  code: string;
  durationMs: number;
  events: number;
  tasksCompleted: number;
  tasksFailed: number;
  attempts: number;
  modelCalls: number;
  toolCalls: number;
  failedCalls: number;
  inputTokens: number;
  outputTokens: number;
  costNanoUsd: number;
}>;

/** `same`; `changed`: the same step with other bodies; `removed`: only in the first; `added`: only in the second. */
export type DiffKind = 'same' | 'changed' | 'removed' | 'added';
export type DiffRow = Readonly<{ kind: DiffKind; one?: Step; other?: Step }>;

export type SessionDiff = Readonly<{
  one: Outcome;
  other: Outcome;
  /** Whether both published the same output. */
  sameOutput: boolean;
  rows: readonly DiffRow[];
  /** Where the paths part first; absent where they never do. */
  parts?: DiffRow;
}>;

/** How a session ended and what it took. */
export function outcomeOf(history: History): Outcome {
  const { entries, judged } = history;
  // What a fork shares was paid for by the session whose past it is.
  const own = (...types: readonly string[]): readonly Happening[] =>
    entries.filter(({ event }) => types.includes(event.type));
  const models = own('model.completed', 'model.failed', 'model.attempt-failed');
  const tools = own('tool.completed', 'tool.failed');
  const failed = history.ofType('session.failed')[0];
  const sum = (name: keyof Spent): number =>
    models.reduce((total, one) => total + spentBy(history, one)[name], 0);
  const [first, last] = [entries[0], entries.at(-1)];
  return {
    session: history.session,
    status: statusOf(
      judged,
      entries.map(({ event }) => event),
    ),
    code: failed === undefined ? '' : textIn(failed, 'code'),
    durationMs: (last?.event.atMs ?? 0) - (first?.event.atMs ?? 0),
    events: entries.length,
    tasksCompleted: history.ofType('task.completed').length,
    tasksFailed: history.ofType('task.abandoned').length,
    attempts: history.ofType('task.scheduled').length,
    modelCalls: models.length,
    toolCalls: tools.length,
    failedCalls: own('model.failed', 'model.attempt-failed', 'tool.failed').length,
    inputTokens: sum('inputTokens'),
    outputTokens: sum('outputTokens'),
    costNanoUsd: sum('costNanoUsd'),
  };
}

function outputOf(history: History): JsonValue {
  const published = history.ofType('result.published')[0];
  const content = published?.event.content as Readonly<Record<string, Content>> | undefined;
  const output = content?.['output'];
  return output?.body === undefined ? null : bodyOf(output);
}

function rowOf([one, other]: readonly [Step | undefined, Step | undefined]): DiffRow {
  if (one === undefined || other === undefined)
    return {
      ...(one === undefined ? {} : { one }),
      ...(other === undefined ? {} : { other }),
      kind: one === undefined ? 'added' : 'removed',
    };
  return { one, other, kind: one.bodies === other.bodies ? 'same' : 'changed' };
}

/** Compares two sessions. */
export function diffOf(a: History, b: History): SessionDiff {
  const rows = align(pathOf(a), pathOf(b), ({ key }) => key).map(rowOf);
  const parts = rows.find(({ kind }) => kind !== 'same');
  return {
    one: outcomeOf(a),
    other: outcomeOf(b),
    sameOutput: canonical(outputOf(a)) === canonical(outputOf(b)),
    rows,
    ...(parts === undefined ? {} : { parts }),
  };
}
