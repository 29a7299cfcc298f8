import { join } from 'node:path';
import { effectiveEvents } from '../../../replay-tools/read/session.ts';
import type { DataOf, SeenEvent } from '../../../schemas/event.ts';
import { isServerCheck } from '../../../services/chassis/catalog/server-checks.ts';
import { jsonLines } from '../mcp-servers.ts';
import type { Evidence, Violation } from './evidence.ts';

const rule =
  'side effects are those of the ledger, none more often than its class and claims allow';

export type EffectLine = Readonly<{ call: string; tool: string; pid: number; atMs: number }>;

type Call = {
  effect: DataOf<'tool.permitted'>['effect'] | undefined;
  /** Asks a server whether it is well, which nobody outside sees. */
  isCheck: boolean;
  isOutside: boolean;
  claims: number;
  completed: boolean;
};

function take(calls: Map<string, Call>, event: SeenEvent): void {
  if (!event.type.startsWith('tool.')) return;
  const { call } = event.data as { call: string };
  const seen = { isCheck: false, isOutside: false, claims: 0, completed: false };
  const fresh: Call = { effect: undefined, ...seen };
  const known = calls.get(call) ?? fresh;
  calls.set(call, known);
  if (event.type === 'tool.requested') known.isCheck = isServerCheck(event.data.tool);
  if (event.type === 'tool.permitted') {
    known.effect = event.data.effect;
    known.isOutside = event.data.runner === 'mcp' && !known.isCheck;
  }
  if (event.type === 'tool.claimed') known.claims += 1;
  if (event.type === 'tool.completed') known.completed = true;
}

function fault(call: string, lines: number, inLog: Call | undefined): string | undefined {
  if (inLog === undefined || inLog.claims === 0) return `${call} ran without a claim`;
  if (inLog.effect === undefined) return `${call} ran without a permit`;
  if (inLog.effect === 'at-most-once' && lines > 1) return `${call} ran ${lines} times`;
  if (lines > inLog.claims) return `${call} ran ${lines} times for ${inLog.claims} claims`;
  return undefined;
}

/** The lines that the tools wrote, against what the log says of their calls. */
export function effectsInLedger({ sessions, dir }: Evidence): readonly Violation[] {
  const calls = new Map<string, Call>();
  for (const session of sessions) for (const event of effectiveEvents(session)) take(calls, event);
  const lines = new Map<string, number>();
  for (const { call } of effectLines(dir)) lines.set(call, (lines.get(call) ?? 0) + 1);
  const faults = [...lines].map(([call, count]) => fault(call, count, calls.get(call)));
  const unseen = [...calls]
    .filter(([call, { isOutside, completed }]) => isOutside && completed && !lines.has(call))
    .map(([call]) => `${call} completed and did nothing`);
  return [...faults, ...unseen].flatMap((detail) =>
    detail === undefined ? [] : [{ rule, detail }],
  );
}

export const effectLines = (dir: string): readonly EffectLine[] =>
  jsonLines<EffectLine>(join(dir, 'effects.jsonl'));
