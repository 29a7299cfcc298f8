import { beforeAll, expect, test } from 'vitest';
import { findEvent } from '../../../../replay-tools/read/find-event.ts';
import { History } from '../../../../replay-tools/read/history.ts';
import { judgeSession } from '../../../../replay-tools/read/session.ts';
import { whyOf } from '../../../../replay-tools/why/why.ts';
import { whyLines } from '../../../../replay-tools/why/why-text.ts';
import { type RecordedWorld, recordWorld, type Scenario } from '../../../support/recorded-world.ts';
import { sourceFromWorld } from '../../../support/world-session.ts';

let recorded: RecordedWorld;

beforeAll(async () => {
  recorded = await recordWorld();
});

async function historyOf(name: Scenario): Promise<History> {
  const { world, goals } = recorded;
  return new History(await judgeSession(await sourceFromWorld(world, goals[name].session)));
}

const open = (session: string) => sourceFromWorld(recorded.world, session);
const nowhere = async () => undefined;

test('leads from a tool call that failed back to the goal, over another log', async () => {
  const history = await historyOf('failing');
  const failed = history.ofType('tool.failed').at(-1);
  if (failed === undefined) throw new Error('no tool failed');
  const { links, beyond } = await whyOf(history, failed, open);
  expect(beyond).toBeUndefined();
  const types = links.map(({ happening }) => happening.event.type);
  expect(types.slice(0, 5)).toEqual([
    'goal.received',
    'goal.admitted',
    'session.opened',
    'plan.accepted',
    'task.scheduled',
  ]);
  expect(types.slice(-4)).toEqual([
    'tool.requested',
    'tool.permitted',
    'tool.claimed',
    'tool.failed',
  ]);
  expect(types.filter((type) => type === 'timer.fired').length).toBe(2);
  const logs = new Set(links.map(({ session }) => session));
  expect([...logs]).toEqual([`goal_${history.session}`, history.session]);
});

test('says where it goes on, where the other log is not to be had', async () => {
  const history = await historyOf('simple');
  const last = history.ofType('result.published')[0];
  if (last === undefined) throw new Error('no result');
  const why = await whyOf(history, last, nowhere);
  expect(why.beyond?.session).toBe(`goal_${history.session}`);
  expect(whyLines(why)[0]).toContain(`goal_${history.session}, which is not to be had here`);
  const asked = whyLines(why).filter((line) => line.startsWith('>'));
  expect(asked).toEqual([expect.stringMatching(/ result\.published /)]);
});

test('every event of every scenario has causes that stand before it, and ends at an input', async () => {
  for (const name of Object.keys(recorded.goals) as Scenario[]) {
    if (name === 'refused') continue;
    const history = await historyOf(name);
    for (const one of history.entries) {
      const { links } = await whyOf(history, one, nowhere);
      const at = links.map(({ happening }) => history.entries.indexOf(happening));
      expect(at).toEqual([...at].sort((a, b) => a - b));
      expect(links[0]?.happening.isInput, `${name} ${one.place} ${one.event.type}`).toBe(true);
    }
  }
});

test('an event that is not there names the nearest one', async () => {
  const history = await historyOf('simple');
  const [first] = history.entries;
  const find = (wanted: string) => () => findEvent(history, wanted);
  expect(findEvent(history, `${first?.offset}.0`)).toBe(first);
  expect(findEvent(history, `${first?.event.record}#0`)).toBe(first);
  expect(findEvent(history, 'first')).toBe(first);
  expect(find('999999')).toThrowError(expect.objectContaining({ code: 'EVENT_UNKNOWN' }));
  expect(find(`${first?.offset}.7`)).toThrowError(
    expect.objectContaining({ fix: expect.stringContaining(`has ${first?.offset}.0 to`) }),
  );
  expect(find('nothing')).toThrowError(
    expect.objectContaining({ fix: expect.stringContaining('12.0') }),
  );
});
