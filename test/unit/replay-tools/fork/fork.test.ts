import { beforeAll, describe, expect, test } from 'vitest';
import { backtest, reportOf } from '../../../../replay-tools/backtest/backtest.ts';
import { diffOf } from '../../../../replay-tools/diff/diff.ts';
import { exportLines } from '../../../../replay-tools/export/export.ts';
import { mocked, recorded as recordedAnswers } from '../../../../replay-tools/fork/answers.ts';
import { recordedCalls } from '../../../../replay-tools/fork/call-book.ts';
import { candidateOf, unchanged } from '../../../../replay-tools/fork/candidate.ts';
import { forkAt, historyOfFork } from '../../../../replay-tools/fork/fork.ts';
import { forkLines } from '../../../../replay-tools/fork/fork-text.ts';
import { PlayOn } from '../../../../replay-tools/fork/play-on.ts';
import { Rehearsal } from '../../../../replay-tools/fork/rehearsal.ts';
import { retryPoint } from '../../../../replay-tools/fork/retry-point.ts';
import { parseExport } from '../../../../replay-tools/read/file.ts';
import { type Happening, History } from '../../../../replay-tools/read/history.ts';
import { judgeSession } from '../../../../replay-tools/read/session.ts';
import { timelineLines } from '../../../../replay-tools/show/timeline.ts';
import { verifySession } from '../../../../replay-tools/verify/verify.ts';
import type { ModelAgent } from '../../../../schemas/definitions/agent.ts';
import type { PinnedCatalog } from '../../../../schemas/definitions/catalog.ts';
import type { ToolDefinition } from '../../../../schemas/definitions/tool.ts';
import { bodyOf } from '../../../../schemas/event.ts';
import type { Setting } from '../../../../services/chassis/protocol/pinned-changes.ts';
import { type RecordedWorld, recordWorld, type Scenario } from '../../../support/recorded-world.ts';
import { sourceFromWorld } from '../../../support/world-session.ts';

/** Sessions decided again from an event on. */

let recorded: RecordedWorld;
const histories = new Map<Scenario, History>();
const names: readonly Scenario[] = [
  ...(['simple', 'retried', 'failing', 'cancelled', 'late', 'denied', 'asked', 'keyed'] as const),
];

beforeAll(async () => {
  recorded = await recordWorld();
  for (const name of names) {
    const source = await sourceFromWorld(recorded.world, recorded.goals[name].session);
    histories.set(name, new History(await judgeSession(source)));
  }
});

function historyOf(name: Scenario): History {
  const history = histories.get(name);
  if (history === undefined) throw new Error(`${name} was not recorded`);
  return history;
}

function eventOf(history: History, type: string, which = 0): Happening {
  const found = history.entries.filter(({ event }) => event.type === type).at(which);
  if (found === undefined) throw new Error(`there is no ${type}`);
  return found;
}

const starts = ({ entries }: History): readonly Happening[] =>
  entries.filter(
    ({ event }) =>
      event.index === 0 && !['session.closed', 'delivery.acknowledged'].includes(event.type),
  );

describe('without a change', () => {
  test.each(names)('%s goes as it went, from whatever event', (name) => {
    const history = historyOf(name);
    for (const at of starts(history)) {
      const { followed, played } = forkAt(history, at);
      expect(followed.parts).toBeUndefined();
      expect(played).toBeUndefined();
      expect(followed.taken).toBe(0);
    }
  });

  test.each(names.filter((name) => name !== 'cancelled'))(
    '%s comes out the same where nothing but answers is taken from the record',
    async (name) => {
      const history = historyOf(name);
      const first = eventOf(history, 'plan.proposed');
      const rehearsal = new Rehearsal(history, first);
      const answers = recordedAnswers(history, recordedCalls(history));
      const played = new PlayOn(rehearsal, answers).run();
      expect(played.ended).toBe('closed');
      const types = (list: readonly { type: string }[]) =>
        list.map(({ type }) => type).filter((type) => !type.startsWith('delivery.'));
      const made = rehearsal.stage.records.flatMap(({ header }) =>
        rehearsal.stage.eventsOf(header.id),
      );
      const was = types(history.entries.map(({ event }) => event));
      expect(types(made).toSorted()).toEqual(was.toSorted());
    },
  );
});

describe('with a mock in the place of the tool that failed', () => {
  test('the session completes, is marked as a fork everywhere, and its parent is as it was', async () => {
    const history = historyOf('failing');
    const mocks = mocked([{ tool: 'test.flaky', result: { name: 'mocked' } }]);
    const fork = forkAt(history, retryPoint(history), { mocks });
    expect(fork.followed.parts).toMatchObject({ because: 'mock', recorded: ['tool.failed'] });
    expect(fork.played?.answers.mock).toBe(1);
    const went = await historyOfFork(fork);
    // What comes after it was never called, and nobody makes up what it would have said.
    expect(fork.played?.unanswered.map(({ name }) => name)).toEqual(['sandbox.run']);
    expect(went.ofType('task.completed').length).toBe(1);
    const all = mocked([
      { tool: 'test.flaky', result: { name: 'mocked' } },
      { tool: 'sandbox.run', result: { value: 6 } },
    ]);
    const whole = forkAt(history, retryPoint(history), { mocks: all });
    expect(whole.played).toMatchObject({ ended: 'closed', unanswered: [] });
    const done = await historyOfFork(whole);
    expect(diffOf(history, done).other).toMatchObject({ status: 'completed', code: '' });
    expect(whole.session).not.toBe(history.session);
    const lines = timelineLines(done.judged);
    expect(lines[0]).toContain(`${whole.session}, completed`);
    expect(lines[1]).toMatch(new RegExp(`^Fork {5}of ${history.session} at `));
    expect(historyOf('failing').ofType('session.failed').length).toBe(1);
  });

  test('it is a file like any other, and says what it is', async () => {
    const history = historyOf('failing');
    const mocks = mocked([{ tool: 'test.flaky', failure: { code: 'STILL', message: 'No.' } }]);
    const fork = forkAt(history, retryPoint(history), { mocks });
    let text = '';
    for await (const line of exportLines(fork.source, { release: '0.0.0-world' })) text += line;
    const read = await parseExport([text], 'fork.jsonl');
    expect(read.fork).toMatchObject({ of: history.session, session: fork.session });
    const report = await verifySession(read);
    expect(report.identical).toBe(true);
    expect(report.hashed.some(({ because }) => because.includes('rehearsed'))).toBe(true);
  });
});

describe('with another prompt, model or policy', () => {
  test('parts at the first decision that is another one, and does not guess what a model would say', () => {
    const history = historyOf('asked');
    const candidate = candidateOf([{ what: 'system', agent: 'asker', value: 'Say nothing.' }]);
    const fork = forkAt(history, eventOf(history, 'task.scheduled'), { candidate });
    const request = eventOf(history, 'model.requested');
    expect(fork.followed.parts).toMatchObject({ service: 'worker-pool:test', because: 'decision' });
    expect(fork.followed.parts?.record).toBe(request.event.record);
    expect(fork.played).toMatchObject({ ended: 'unanswered' });
    expect(fork.played?.unanswered).toMatchObject([{ kind: 'model', name: 'scripted/tester' }]);
    expect(forkLines(fork).join('\n')).toContain('the rest is not guessed');
  });

  test('a denied tool is denied, and the agent is told so', () => {
    const history = historyOf('simple');
    const candidate = candidateOf([{ what: 'policy', policy: { deny: ['test.echo'] } }]);
    const { followed, played } = forkAt(history, eventOf(history, 'tool.permitted'), { candidate });
    expect(followed.parts).toMatchObject({
      ...{ service: 'tool-guard', recorded: ['tool.permitted'], decided: ['tool.denied'] },
    });
    expect(played).toMatchObject({ ended: 'closed', unanswered: [] });
  });

  test('an agent that the session does not pin is a clear error', () => {
    const history = historyOf('asked');
    const candidate = candidateOf([{ what: 'model', agent: 'aske', value: 'scripted/x' }]);
    const fork = () => forkAt(history, eventOf(history, 'task.scheduled'), { candidate });
    expect(fork).toThrowError(
      expect.objectContaining({ code: 'AGENT_UNKNOWN', fix: 'it pins: asker' }),
    );
  });
});

describe('every setting', () => {
  const pinned = (history: History): PinnedCatalog => {
    const accepted = eventOf(history, 'plan.accepted').event;
    if (accepted.type !== 'plan.accepted') throw new Error('no plan');
    return bodyOf(accepted.content.catalog) as unknown as PinnedCatalog;
  };
  const echo = ({ tools }: PinnedCatalog) => tools['test.echo'] as ToolDefinition;
  const asker = ({ agents }: PinnedCatalog) => agents['asker'] as ModelAgent;
  type Case = readonly [
    what: string,
    scenario: Scenario,
    same: (catalog: PinnedCatalog) => Setting,
    other: (catalog: PinnedCatalog) => Setting,
    parts: Readonly<{ service: string; recorded: readonly string[] }>,
  ];
  const asks = { service: 'worker-pool:test', recorded: ['agent.started', 'model.requested'] };
  const cases: readonly Case[] = [
    [
      ...(['prompt', 'asked'] as const),
      (one) => ({ what: 'prompt', agent: 'asker', value: String(asker(one).prompt) }),
      () => ({ what: 'prompt', agent: 'asker', value: 'Ask something else.' }),
      asks,
    ],
    [
      ...(['system', 'asked'] as const),
      (one) => ({ what: 'system', agent: 'asker', value: String(asker(one).system ?? '') }),
      () => ({ what: 'system', agent: 'asker', value: 'Be brief.' }),
      asks,
    ],
    [
      ...(['model', 'asked'] as const),
      (one) => ({ what: 'model', value: String(asker(one).model) }),
      () => ({ what: 'model', value: 'scripted/other' }),
      asks,
    ],
    [
      ...(['tool', 'simple'] as const),
      (one) => ({ what: 'tool', tool: echo(one) }),
      (one) => ({ what: 'tool', tool: { ...echo(one), version: '9.9.9' } }),
      { service: 'tool-guard', recorded: ['tool.permitted'] },
    ],
    [
      ...(['policy', 'simple'] as const),
      () => ({ what: 'policy', policy: { deny: ['test.absent'] } }),
      () => ({ what: 'policy', policy: { deny: ['test.echo'] } }),
      { service: 'tool-guard', recorded: ['tool.permitted'] },
    ],
    [
      ...(['plan', 'simple'] as const),
      ({ plan }) => ({ what: 'plan', plan }),
      ({ plan }) => ({ what: 'plan', plan: { ...plan, version: '9.9.9' } }),
      { service: 'planner', recorded: ['plan.proposed', 'plan.accepted'] },
    ],
    [
      ...(['input', 'simple'] as const),
      () => ({ what: 'input', name: 'said', value: 'hello' }),
      () => ({ what: 'input', name: 'said', value: 'bye' }),
      { service: 'supervisor', recorded: ['task.scheduled'] },
    ],
  ];

  test.each(cases)(
    '%s: the same value changes nothing, another one parts the paths there',
    (...one) => {
      const [, scenario, same, other, parts] = one;
      const history = historyOf(scenario);
      const identical = candidateOf([same(pinned(history))]);
      const changed = candidateOf([other(pinned(history))]);
      const from = eventOf(history, 'plan.proposed');
      expect(forkAt(history, from, { candidate: identical }).followed.parts).toBeUndefined();
      const { followed } = forkAt(history, from, { candidate: changed });
      expect(followed.parts).toMatchObject({
        ...{ service: parts.service, because: 'decision' },
        recorded: expect.arrayContaining([...parts.recorded]),
      });
      expect(backtest(history, identical)).toMatchObject({ verdict: 'same', unknown: 0 });
      expect(backtest(history, changed)).toMatchObject({
        ...{ verdict: 'flipped', flip: { service: parts.service, place: followed.parts?.place } },
      });
    },
  );
});

describe('where no fork can be', () => {
  test('in the middle of a turn, after the end, and where a change comes too late', () => {
    const history = historyOf('simple');
    const at = (one: Happening, what?: Parameters<typeof candidateOf>[0]) => () =>
      forkAt(history, one, { candidate: what === undefined ? unchanged : candidateOf(what) });
    const code = (name: string, fix: RegExp) =>
      expect.objectContaining({ code: name, fix: expect.stringMatching(fix) });
    expect(at(eventOf(history, 'plan.accepted'))).toThrowError(
      code('FORK_NO_DECISION', /^fork at \d+\.0$/),
    );
    expect(at(eventOf(history, 'session.closed'))).toThrowError(
      code('FORK_NO_DECISION', /^fork at/),
    );
    const late = at(eventOf(history, 'tool.permitted'), [
      { what: 'input', name: 'said', value: 'bye' },
    ]);
    expect(late).toThrowError(code('FORK_TOO_LATE', /or before$/));
  });

  test('another input, where it is in time, changes what the task is given', () => {
    const history = historyOf('simple');
    const candidate = candidateOf([{ what: 'input', name: 'said', value: 'bye' }]);
    const { followed } = forkAt(history, eventOf(history, 'plan.proposed'), { candidate });
    expect(followed.parts).toMatchObject({
      service: 'supervisor',
      recorded: expect.arrayContaining(['task.scheduled']),
    });
  });
});

describe('backtest', () => {
  const over = (candidate: Parameters<typeof backtest>[1]) =>
    names.map((name) => backtest(historyOf(name), candidate));

  test('an identical candidate flips nothing', () => {
    const report = reportOf([], over(unchanged));
    expect(report).toMatchObject({
      sessions: names.length,
      same: names.length,
      flipped: 0,
      unreadable: 0,
    });
    expect(report.decisionsUnknown).toBe(0);
    expect(report.knownNanoUsd).toBe(report.costNanoUsd);
    expect(report.costNanoUsd).toBeGreaterThan(0);
  });

  test('one that denies a tool flips exactly the sessions in which it was permitted', () => {
    for (const tool of ['test.echo', 'test.flaky', 'test.wait', 'sandbox.run']) {
      const candidate = candidateOf([{ what: 'policy', policy: { deny: [tool] } }]);
      const verdicts = over(candidate);
      const used = names.filter((name) =>
        historyOf(name).entries.some(
          ({ event }) => event.type === 'tool.permitted' && event.data.tool === tool,
        ),
      );
      expect(verdicts.filter(({ verdict }) => verdict === 'flipped').length, tool).toBe(
        used.length,
      );
      for (const { flip } of verdicts)
        if (flip !== undefined) expect(flip.recorded).toContain('tool.permitted');
    }
  });

  test('after the first other decision of a session the rest is unknown', () => {
    const candidate = candidateOf([{ what: 'model', value: 'scripted/other' }]);
    const verdict = backtest(historyOf('asked'), candidate);
    expect(verdict).toMatchObject({ verdict: 'flipped', knownNanoUsd: 0 });
    expect(verdict.flip?.service).toBe('worker-pool:test');
    expect(verdict.unknown).toBeGreaterThan(10);
    const { flips } = reportOf(candidate.says, over(candidate));
    expect(flips.length).toBe(1);
    expect(flips[0]?.sessions).toBe(1);
  });
});
