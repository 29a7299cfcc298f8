import { describe, expect, test } from 'vitest';
import { type Draft, event, text } from '../../../../../schemas/event.ts';
import { limits } from '../../../../../schemas/limits.ts';
import type { PlacedRecord } from '../../../../../services/chassis/protocol/record.ts';
import {
  type CoreStep,
  foldCore,
  type SessionCore,
  unknownSession,
} from '../../../../../services/chassis/protocol/session-core.ts';
import {
  cancel,
  claimed,
  completed,
  input,
  opening,
  placed,
  session,
  skipped,
  timerSet,
  turn,
  unknown,
} from '../../../../support/placed-record.ts';
import { epochBody, openingBody } from '../../../../support/written-session.ts';

function fold(records: readonly PlacedRecord[], start = unknownSession(session)): SessionCore {
  return records.reduce((core, record) => foldCore(core, record).core, start);
}

const typesOf = ({ events }: CoreStep): string[] => events.map((one) => one.type);
const closing = (offset: number): PlacedRecord => turn(offset, [event('session.closed', {})]);
const fired = (timer: string, index = 0, record = 'trn_1'): Draft<'timer.fired'> =>
  event('timer.fired', { timer, record, index, dueAtMs: 5_000 });

describe('an input (C1)', () => {
  test('opens its session, which keeps from it whose it is', () => {
    const { core, events } = foldCore(unknownSession(session), opening());
    expect(core.status).toBe('open');
    expect(core.meta).toEqual({
      session,
      tenant: 'acme',
      principal: 'mary',
      labels: { team: 'red' },
    });
    expect(core.last).toMatchObject({ record: 'inp_open', offset: 0 });
    expect(events[0]).toMatchObject({ type: 'session.opened', record: 'inp_open', index: 0 });
    expect(events[0]?.service).toBe('input');
  });

  test('counts once by its id, the opening too', () => {
    const core = fold([opening(), input(1, cancel(), { id: 'inp_x' })]);
    expect(foldCore(core, input(2, cancel(), { id: 'inp_x' }))).toMatchObject({
      events: [],
      ignored: 'duplicate',
    });
    expect(foldCore(core, opening(3))).toMatchObject({ core, ignored: 'duplicate' });
    expect(foldCore(core, input(4, cancel(), { id: 'inp_y' })).ignored).toBeUndefined();
  });

  test('is ignored before the opening, unless it is a cancel', () => {
    const step = foldCore(unknownSession(session), input(0, fired('t')));
    expect(step).toEqual({
      core: unknownSession(session),
      events: [],
      ignored: 'unknown-session',
    });
  });

  test('that cancels before the opening brings nothing, and takes effect right behind it', () => {
    const early = foldCore(unknownSession(session), input(0, cancel('eve'), { id: 'inp_c' }));
    expect(early.events).toEqual([]);
    expect(early.core.status).toBe('cancelled-early');
    const step = foldCore(early.core, opening(1));
    expect(typesOf(step)).toEqual(['session.opened', 'session.cancel-requested']);
    expect(step.events[1]).toMatchObject({ record: 'inp_c', data: { requestedBy: 'eve' } });
    expect(step.core.earlyCancel).toBeUndefined();
    expect(foldCore(step.core, input(2, cancel(), { id: 'inp_c' })).ignored).toBe('duplicate');
  });

  test('that cancels early counts once: the first is kept', () => {
    const core = fold([input(0, cancel('eve')), input(1, cancel('bob'))]);
    expect(core.earlyCancel?.data).toEqual({ requestedBy: 'eve' });
    const { events } = foldCore(core, opening(2));
    expect(events).toHaveLength(2);
  });

  /** Inputs from the number on, each at this time. */
  function many(core: SessionCore, from: number, at: { count: number; atMs: number }): SessionCore {
    let next = core;
    for (let i = from; i < from + at.count; i++)
      next = foldCore(next, input(i, cancel(), { id: `inp_${i}`, atMs: at.atMs })).core;
    return next;
  }
  const repeated = (core: SessionCore, id: string): string | undefined =>
    foldCore(core, input(99_999, cancel(), { id, atMs: core.last.atMs })).ignored;

  test('is remembered for the dedupe horizon at least, by the time of the log', () => {
    const opened = fold([opening()]);
    const startMs = opened.last.atMs;
    const old = many(opened, 1, { count: 1_500, atMs: startMs });
    const laterMs = startMs + limits.dedupeHorizonMs + 86_400_000;
    expect([repeated(old, 'inp_1'), repeated(old, 'inp_1500')]).toEqual(['duplicate', 'duplicate']);
    const core = many(old, 2_001, { count: 1_001, atMs: laterMs });
    expect(repeated(core, 'inp_1')).toBeUndefined();
    expect([repeated(core, 'inp_2001'), repeated(core, 'inp_3001')]).toEqual([
      'duplicate',
      'duplicate',
    ]);
  });

  test('is remembered among so many others, not more: a checkpoint stays small', () => {
    const opened = fold([opening()]);
    const count = limits.rememberedInputsMax + 2_000;
    const core = many(opened, 1, { count, atMs: opened.last.atMs });
    expect(repeated(core, 'inp_1')).toBeUndefined();
    expect(repeated(core, `inp_${count - limits.rememberedInputsMax + 1}`)).toBe('duplicate');
    expect(JSON.stringify(core).length).toBeLessThan(40 * (limits.rememberedInputsMax + 1_000));
  });
});

describe('a turn (C2)', () => {
  test('brings its events in order, each with its address, writer and time', () => {
    const step = foldCore(fold([opening()]), turn(1, [skipped('a'), skipped('b')]));
    expect(step.events.map(({ record, index }) => [record, index])).toEqual([
      ['trn_1', 0],
      ['trn_1', 1],
    ]);
    expect(step.events[0]).toMatchObject({ service: 'supervisor', incarnation: 'writer' });
    expect(step.core.recent).toEqual(['trn_1']);
  });

  test('of a session that nobody opened brings nothing', () => {
    const step = foldCore(unknownSession(session), turn(0, [skipped('a')]));
    expect(step).toMatchObject({ events: [], ignored: 'unknown-session' });
    const early = fold([input(0, cancel())]);
    expect(foldCore(early, turn(1, [skipped('a')])).ignored).toBe('unknown-session');
  });

  test('is void when a turn that it foresaw is not effective, else it counts', () => {
    const core = fold([opening(), turn(1, [skipped('a')])]);
    const after = turn(2, [skipped('b')], { foreseen: ['trn_1', 'trn_void'] });
    expect(foldCore(core, after)).toEqual({ core, events: [], ignored: 'foreseen-void' });
    const good = turn(2, [skipped('b')], { foreseen: ['trn_1'] });
    expect(typesOf(foldCore(core, good))).toEqual(['task.skipped']);
  });

  test('never makes the time of its session run backwards', () => {
    const core = fold([opening(), turn(1, [skipped('a')], { atMs: 5 })]);
    expect(core.last).toEqual({ record: 'trn_1', offset: 1, atMs: Date.UTC(2026, 0, 15) });
  });

  test('that says a decision failed silences that service', () => {
    const failed = event(
      'decision.failed',
      { service: 'planner', code: 'X' },
      { message: text('no') },
    );
    expect(fold([opening(), turn(1, [failed])]).failed).toEqual(['planner']);
  });
});

describe('an outcome (C3)', () => {
  const open = fold([opening(), turn(1, [claimed('c1')], { incarnation: 'runner' })]);

  test('needs a claim: the call then stands open under the address of the claim', () => {
    expect(open.calls['c1']).toEqual({
      status: 'claimed',
      service: 'supervisor',
      claim: 'trn_1#0',
      claims: ['trn_1#0'],
      incarnation: 'runner',
      attempt: 1,
      deadlineAtMs: 60_000,
    });
    const step = foldCore(open, input(2, completed('c1', 'trn_1#0')));
    expect(typesOf(step)).toEqual(['tool.completed']);
    expect(step.core.calls).toEqual({});
  });

  test('is late without a claim, under a claim nobody made, and the second time', () => {
    expect(foldCore(open, input(2, completed('c9', 'trn_1#0'))).ignored).toBe('late');
    expect(foldCore(open, input(2, completed('c1', 'trn_0#0'))).ignored).toBe('late');
    const settled = fold([input(2, completed('c1', 'trn_1#0'))], open);
    const second = foldCore(settled, input(3, completed('c1', 'trn_1#0')));
    expect(second).toEqual({ core: settled, events: [], ignored: 'late' });
  });

  test('of a claim that was superseded settles the call too, and then the newer one is late', () => {
    const again = fold([turn(2, [claimed('c1', 2)], { incarnation: 'second' })], open);
    expect(again.calls['c1']).toMatchObject({ claim: 'trn_2#0', incarnation: 'second' });
    const step = foldCore(again, input(3, completed('c1', 'trn_1#0')));
    expect(typesOf(step)).toEqual(['tool.completed']);
    expect(foldCore(step.core, input(4, completed('c1', 'trn_2#0'))).ignored).toBe('late');
  });

  test('settles a call that was declared unknown, however late', () => {
    const lost = fold([turn(2, [unknown('c1')])], open);
    expect(lost.calls['c1']?.status).toBe('unknown');
    const step = foldCore(lost, input(900, completed('c1', 'trn_1#0')));
    expect(typesOf(step)).toEqual(['tool.completed']);
  });

  test('that comes before a claim which was on its way leaves the call settled', () => {
    const settled = fold([input(2, completed('c1', 'trn_1#0'))], open);
    const after = fold([turn(9, [claimed('c1', 2)], { incarnation: 'second' })], settled);
    expect(after.calls).toEqual({});
  });

  test('counts for two claims of one turn apart', () => {
    const both = fold([opening(), turn(1, [claimed('a'), claimed('b')])]);
    const core = fold([input(2, completed('b', 'trn_1#1'))], both);
    expect(Object.keys(core.calls)).toEqual(['a']);
    expect(foldCore(core, input(3, completed('a', 'trn_1#1'))).ignored).toBe('late');
  });

  test('of a denied model call is late, and the call stands open no more', () => {
    const drafts = [
      event('model.claimed', { call: 'm', attempt: 1, model: 'x', deadlineAtMs: 9 }),
      event('model.denied', { call: 'm', code: 'BUDGET' }, { message: text('spent') }),
    ];
    expect(fold([opening(), turn(1, drafts)]).calls).toEqual({});
  });

  test('after the close is late, not closed, so that it can be priced', () => {
    const core = fold([closing(2)], open);
    expect(foldCore(core, input(3, completed('c1', 'trn_1#0'))).ignored).toBe('late');
  });
});

describe('a timer (C4)', () => {
  const set = fold([opening(), turn(1, [timerSet('t', 5_000)])]);

  test('fires once, when it is due', () => {
    const step = foldCore(set, input(2, fired('t'), { atMs: 5_000 }));
    expect(typesOf(step)).toEqual(['timer.fired']);
    const twice = foldCore(step.core, input(3, fired('t'), { atMs: 5_000 }));
    expect(twice).toEqual({ core: step.core, events: [], ignored: 'superseded' });
  });

  test('does not fire before it is due, and may fire later', () => {
    const early = foldCore(set, input(2, fired('t'), { atMs: 4_999 }));
    expect(early).toEqual({ core: set, events: [], ignored: 'superseded' });
    expect(typesOf(foldCore(early.core, input(3, fired('t'), { atMs: 6_000 })))).toHaveLength(1);
  });

  test('does not fire for a setting that was superseded; the new one does', () => {
    const again = fold([turn(2, [timerSet('t', 7_000)])], set);
    expect(foldCore(again, input(3, fired('t'), { atMs: 9_000 })).ignored).toBe('superseded');
    const current = input(4, fired('t', 0, 'trn_2'), { atMs: 9_000 });
    expect(typesOf(foldCore(again, current))).toEqual(['timer.fired']);
  });

  test('does not fire for another setting of the same turn, nor when it was taken back', () => {
    const two = fold([opening(), turn(1, [timerSet('t', 1), timerSet('t', 5_000)])]);
    expect(two.timers['t']).toMatchObject({ record: 'trn_1', index: 1, service: 'supervisor' });
    expect(foldCore(two, input(2, fired('t', 0), { atMs: 9_000 })).ignored).toBe('superseded');
    const off = fold([turn(2, [event('timer.cancelled', { timer: 't' })])], set);
    expect(foldCore(off, input(3, fired('t'), { atMs: 9_000 })).ignored).toBe('superseded');
  });
});

describe('after the close (C5)', () => {
  const core = fold([opening(), closing(1)]);

  test('nothing is effective', () => {
    expect(core.status).toBe('closed');
    for (const record of [
      input(2, cancel()),
      turn(2, [skipped('a')]),
      opening(2),
      input(2, fired('t'), { atMs: 9_000 }),
    ])
      expect(foldCore(core, record)).toEqual({ core, events: [], ignored: 'closed' });
  });

  test('what stands behind the closing event in the same turn is not effective either', () => {
    const drafts = [event('session.closed', {}), skipped('a')];
    const step = foldCore(fold([opening()]), turn(1, drafts));
    expect(typesOf(step)).toEqual(['session.closed']);
  });
});

test('epochs and checkpoints change nothing that is known of a session', () => {
  const core = fold([opening()]);
  expect(foldCore(core, placed(1, 'epo', epochBody()))).toEqual({ core, events: [] });
});

test('a goal log and a key log open with inputs of their own', () => {
  const key = event('key.requested', { goalLog: 'goal_x', session: 'ses_x' });
  expect(foldCore(unknownSession(session), input(0, key)).core.status).toBe('open');
  const goal = placed(0, 'inp', openingBody(session));
  expect(foldCore(unknownSession(session), goal).core.status).toBe('open');
});
