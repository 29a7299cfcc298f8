import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { contextOf, contextsOf } from '../../../../replay-tools/context/context.ts';
import { contextLines } from '../../../../replay-tools/context/context-text.ts';
import { costKeys, costOf } from '../../../../replay-tools/cost/cost.ts';
import { costLines } from '../../../../replay-tools/cost/cost-text.ts';
import { dagOf } from '../../../../replay-tools/dag/dag.ts';
import { dagSvg } from '../../../../replay-tools/dag/dag-svg.ts';
import { dagLines } from '../../../../replay-tools/dag/dag-text.ts';
import { align } from '../../../../replay-tools/diff/align.ts';
import { diffOf } from '../../../../replay-tools/diff/diff.ts';
import { diffDocument, diffLines } from '../../../../replay-tools/diff/diff-text.ts';
import { ganttSvg } from '../../../../replay-tools/gantt/gantt-svg.ts';
import { ganttLines } from '../../../../replay-tools/gantt/gantt-text.ts';
import { spansOf } from '../../../../replay-tools/gantt/spans.ts';
import { History } from '../../../../replay-tools/read/history.ts';
import { judgeSession } from '../../../../replay-tools/read/session.ts';
import type { ModelCallToMake } from '../../../../services/model-gateway/decide.ts';
import {
  type RecordedWorld,
  recordWorld,
  type Scenario,
  scenarioOptions,
} from '../../../support/recorded-world.ts';
import { sourceFromWorld } from '../../../support/world-session.ts';

/** The ways to look at a session, over one recorded world; what its models were really asked is kept beside it. */

let recorded: RecordedWorld;
const made: ModelCallToMake[] = [];

beforeAll(async () => {
  const { model, tools } = scenarioOptions();
  recorded = await recordWorld({
    ...(tools === undefined ? {} : { tools }),
    model(request, count) {
      made.push(request);
      if (model === undefined) throw new Error('the scenarios have a model');
      return model(request, count);
    },
  });
});

const histories = new Map<Scenario, History>();

async function historyOf(name: Scenario): Promise<History> {
  const { world, goals } = recorded;
  const known = histories.get(name);
  const history =
    known ?? new History(await judgeSession(await sourceFromWorld(world, goals[name].session)));
  histories.set(name, history);
  return history;
}

describe('context', () => {
  test('every window is what the provider got, message for message', async () => {
    const history = await historyOf('asked');
    const requests = history.ofType('model.requested');
    expect(requests.length).toBe(made.length);
    for (const [index, request] of requests.entries()) {
      const { messages, tools, model } = contextOf(history, 'ask.1', request);
      expect({ messages, tools, model }).toEqual({
        messages: made[index]?.messages,
        tools: made[index]?.tools,
        model: made[index]?.model,
      });
    }
  });

  test('counts tokens: by the provider where it answered, else by estimate', async () => {
    const history = await historyOf('asked');
    const { tokens, messages } = contextOf(history, 'ask');
    expect(tokens.messages.length).toBe(messages.length);
    expect(tokens.input).toBe(40);
    expect(tokens.estimated).toBeGreaterThan(10_000);
    const [failed] = history.ofType('model.requested');
    expect(contextOf(history, 'ask.1', failed).tokens.input).toBe(0);
    expect(contextsOf(history).map(({ agent }) => agent)).toEqual(['ask.1']);
    const lines = contextLines(contextOf(history, 'ask.1', failed));
    expect(lines).toContain('    Use the tools that you have.');
    // A body of 50 kB does not fill a terminal, unless somebody wants it.
    const newest = contextOf(history, 'ask');
    const [seen, full] = [false, true].map((one) =>
      contextLines(newest, { columns: 100, full: one }),
    );
    expect(seen?.length).toBeLessThan(90);
    expect(seen?.join('\n')).toContain('lines more, see them with --full');
    expect(full?.length).toBeGreaterThan(1_000);
    expect(full?.join('\n')).not.toContain('lines more');
  });

  test('an agent that asked nothing, and an event before it did, are clear errors', async () => {
    const history = await historyOf('asked');
    const at = (agent: string, event?: (typeof history.entries)[number]) => () =>
      contextOf(history, agent, event);
    expect(at('ask.2')).toThrowError(
      expect.objectContaining({ code: 'AGENT_UNKNOWN', fix: 'these did: ask.1' }),
    );
    const error = expect.objectContaining({ code: 'CONTEXT_EMPTY' });
    expect(at('ask.1', history.entries[0])).toThrowError(error);
  });
});

describe('cost', () => {
  test('sums to the nano-dollar what the outcomes say, whatever it is told by', async () => {
    const history = await historyOf('asked');
    const result = history.ofType('result.published')[0];
    if (result?.event.type !== 'result.published') throw new Error('no result');
    for (const by of costKeys) {
      const { lines, total } = costOf(history, by);
      const sum = lines.reduce((all, { costNanoUsd }) => all + costNanoUsd, 0);
      expect(sum).toBe(total.costNanoUsd);
      if (by !== 'tool') expect(sum).toBe(result.event.data.costNanoUsd);
    }
    expect(costOf(history, 'agent').lines.map(({ name }) => name)).toEqual(['ask.1']);
    expect(costLines(costOf(history, 'model')).at(-1)).toMatch(
      /^total +4 +1 +120 +43 .*\$0\.000003013/,
    );
  });
});

describe('diff', () => {
  test('a session does not differ from itself', async () => {
    const history = await historyOf('failing');
    const diff = diffOf(history, history);
    expect(diff.parts).toBeUndefined();
    expect(diff.rows.every(({ kind }) => kind === 'same')).toBe(true);
    expect(diffLines(diff).at(-1)).toBe('Both took the same path with the same contents.');
  });

  test('says where paths part, and how outcome, attempts and cost differ', async () => {
    const [failing, retried] = [await historyOf('failing'), await historyOf('retried')];
    const diff = diffOf(failing, retried);
    expect(diff.parts?.one?.key).toBe('session.opened flaky');
    expect(diff.parts?.kind).toBe('changed');
    expect(diff.one).toMatchObject({ status: 'failed', code: 'TOOL_BROKE', attempts: 3 });
    expect(diff.other).toMatchObject({ status: 'completed', code: '', attempts: 3 });
    expect(diff.sameOutput).toBe(false);
    const { differences } = diffDocument(diff);
    expect(differences.filter(({ kind }) => kind === 'removed').length).toBeGreaterThan(5);
    const lines = diffLines(diff, { columns: 100 });
    expect(Math.max(...lines.map((line) => [...line].length))).toBeLessThanOrEqual(100);
  });

  test('an alignment is in order, loses nothing, and is as long as the best one', () => {
    const list = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 12 });
    fc.assert(
      fc.property(list, list, (one, other) => {
        const pairs = align(one, other, (item) => item);
        expect(pairs.flatMap(([left]) => left ?? [])).toEqual(one);
        expect(pairs.flatMap(([, right]) => right ?? [])).toEqual(other);
        const same = pairs.filter(([left, right]) => left !== undefined && right !== undefined);
        expect(same.every(([left, right]) => left === right)).toBe(true);
        expect(same.length).toBe(longestCommon(one, other));
      }),
      { numRuns: 300 },
    );
  });
});

/** The textbook table. */
function longestCommon(one: readonly string[], other: readonly string[]): number {
  const table = [new Array<number>(other.length + 1).fill(0)];
  for (const letter of one) {
    const above = table.at(-1) ?? [];
    const row = [0];
    for (const [at, right] of other.entries())
      row.push(
        letter === right ? (above[at] ?? 0) + 1 : Math.max(above[at + 1] ?? 0, row[at] ?? 0),
      );
    table.push(row);
  }
  return table.at(-1)?.at(-1) ?? 0;
}

describe('gantt and dag', () => {
  test('attempts, calls and waits lie in the session, and failures are marked', async () => {
    const spans = spansOf(await historyOf('failing'));
    const [whole] = spans;
    const kinds = spans.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'task').length).toBe(3);
    expect(kinds.filter((kind) => kind === 'tool').length).toBe(3);
    expect(kinds.filter((kind) => kind === 'wait').length).toBe(2);
    for (const { fromMs, toMs } of spans) {
      expect(fromMs).toBeGreaterThanOrEqual(whole?.fromMs ?? 0);
      expect(toMs).toBeGreaterThanOrEqual(fromMs);
    }
    const lines = ganttLines(spans, { columns: 80 });
    expect(Math.max(...lines.map((line) => [...line].length))).toBeLessThanOrEqual(80);
    expect(lines.filter((line) => line.includes('✗')).length).toBeGreaterThan(6);
  });

  test('the graph has every task in its layer, with its fate', async () => {
    const tasks = dagOf(await historyOf('cancelled'));
    expect(tasks.map(({ id, layer, status }) => [id, layer, status])).toEqual([
      ['first', 0, 'cancelled'],
      ['left', 1, 'pending'],
      ['right', 1, 'pending'],
    ]);
    expect(dagLines(dagOf(await historyOf('failing')))[0]).toMatch(
      /^✗ try +failed TOOL_BROKE, 3 att/,
    );
    const refused = await historyOf('simple');
    const before = new History({ ...refused.judged, records: refused.judged.records.slice(0, 1) });
    expect(() => dagOf(before)).toThrowError(expect.objectContaining({ code: 'PLAN_NONE' }));
  });

  test('pictures are well-formed, say all in text, and hold no mark-up of their session', async () => {
    const history = await historyOf('failing');
    const nasty = dagOf(history).map((task) => ({ ...task, id: `<b>&"${task.id}` }));
    for (const svg of [dagSvg('ses_<x>', nasty), ganttSvg('ses_<x>', spansOf(history))]) {
      expect(svg).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" role="img"/);
      expect(svg).toContain('<title>');
      expect(svg).not.toContain('<x>');
      expect(svg).not.toContain('<b>');
      const opened = [...svg.matchAll(/<([a-z]+)(?:[^>]*[^/])?>/g)].map((found) => found[1]);
      const closed = [...svg.matchAll(/<\/([a-z]+)>/g)].map((found) => found[1]);
      expect(opened.toSorted()).toEqual(closed.toSorted());
    }
  });
});
