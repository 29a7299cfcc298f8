import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { approvalsTopic, goalsTopic, tokensTopic } from '../../../../schemas/topics.ts';
import { partitionOf } from '../../../../services/chassis/log/partition.ts';
import {
  CursorInvalidError,
  GoalCancelledError,
  GoalFailedError,
  GoalInvalidError,
  GoalRejectedError,
  Harness,
  HarnessClosedError,
  type Update,
  WaitEndedError,
} from '../../../../services/client/index.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';

/** The client against real services over the log in memory: the log is all that they share. */

let world: MemoryWorld;
let harness: Harness;

const connect = (name: string): Harness => new Harness({ log: world.connect(name) });

beforeEach(async () => {
  world = await MemoryWorld.start();
  harness = connect('client');
});

afterEach(async () => {
  await harness.close();
});

const echo = { plan: 'echo', inputs: { said: 'hello' } } as const;

async function all(updates: AsyncIterable<Update>, most = Number.POSITIVE_INFINITY) {
  const list: Update[] = [];
  for await (const update of updates) {
    list.push(update);
    if (list.length >= most) break;
  }
  return list;
}

const typesOf = (updates: readonly Update[]): string[] =>
  updates.map((update) => (update.kind === 'event' ? update.event.type : 'result'));

describe('run', () => {
  it('gives the result, and each event in the order of the logs before it', async () => {
    const seen: string[] = [];
    const submitted: string[] = [];
    const result = await world.during(
      harness.run({
        ...echo,
        onEvent: ({ event }) => seen.push(event.type),
        onSubmitted: ({ session }) => submitted.push(session),
      }),
    );
    expect(result.status).toBe('completed');
    expect(submitted).toEqual([result.session]);
    const order = ['goal.received', 'session.opened', 'task.completed', 'result.published'];
    expect(seen.filter((type) => order.includes(type))).toEqual(order);
  });

  it('asks the log for nothing more once it reads where its goals are', async () => {
    const small = await MemoryWorld.start({ partitions: 1 });
    const log = small.connect('client');
    const asked: string[] = [];
    const one = new Harness({ log });
    await small.during(one.run(echo));
    const { bounds, reader } = log;
    log.bounds = (topic) => {
      asked.push(topic);
      return bounds.call(log, topic);
    };
    log.reader = (handlers) => {
      asked.push('a reader');
      return reader.call(log, handlers);
    };
    expect(await small.during(one.run(echo))).toMatchObject({ status: 'completed' });
    expect(asked).toEqual([]);
    await one.close();
  });

  it('throws what ended the goal, with the result', async () => {
    const rejected = await world.during(harness.run({ plan: 'nope' }).catch((error) => error));
    expect(rejected).toBeInstanceOf(GoalRejectedError);
    expect(rejected).toMatchObject({ code: 'PLAN_UNKNOWN', result: { status: 'rejected' } });
    expect(rejected.fix).toContain('Name one of');
    const failing = harness.run({ plan: 'echo', inputs: { said: 'x' }, timeoutMs: 1 });
    const failed = await world.during(failing.catch((error) => error));
    expect(failed).toBeInstanceOf(GoalFailedError);
    expect(failed).toMatchObject({ code: 'SESSION_TIMEOUT', result: { status: 'failed' } });
  });

  it('refuses a goal without the right shape before anything is sent', async () => {
    await expect(harness.run({})).rejects.toBeInstanceOf(GoalInvalidError);
    await expect(harness.run({ plan: 'echo', budgetUsd: -1 })).rejects.toThrow('budgetUsd -1');
    await expect(harness.run({ plan: 'echo', timeoutMs: 0 })).rejects.toThrow('timeoutMs');
    expect(world.cluster.records({ topic: goalsTopic, partition: 0 })).toEqual([]);
  });

  it('ends the waiting and not the goal', async () => {
    const abort = new AbortController();
    const run = harness.run({ ...echo, id: 'left', signal: abort.signal });
    abort.abort();
    const error = await world.during(run.catch((thrown) => thrown));
    expect(error).toBeInstanceOf(WaitEndedError);
    const result = await world.during(harness.session('left').result());
    expect(result.status).toBe('completed');
  });

  it('is one session for two clients that ask under the same id', async () => {
    const other = connect('other');
    const goal = { ...echo, id: 'same' };
    const results = await world.during(Promise.all([harness.run(goal), other.run(goal)]));
    expect(results[0]).toEqual(results[1]);
    const opened = world
      .records()
      .filter(({ headers }) => headers['lr_types'] === 'session.opened');
    expect(opened).toHaveLength(1);
    await other.close();
  });
});

describe('follow', () => {
  it('goes on where another process stopped: nothing twice, nothing left out', async () => {
    const { session, cursor } = await world.during(harness.submit(echo));
    const whole = await world.during(all(harness.follow(session)));
    for (const stop of [1, 3, whole.length - 1]) {
      const part = await world.during(all(harness.follow(session, { after: cursor }), stop));
      const other = connect(`other-${stop}`);
      const after = part.at(-1)?.cursor ?? '';
      const rest = await world.during(all(other.follow(session, { after })));
      expect(typesOf([...part, ...rest])).toEqual(typesOf(whole));
      await other.close();
    }
    const end = whole.at(-1)?.cursor ?? '';
    expect(await world.during(all(harness.follow(session, { after: end })))).toEqual([]);
  });

  it('refuses a cursor that is none, or that is of another session', async () => {
    const { session, cursor } = await world.during(harness.submit(echo));
    const bad = all(harness.follow(session, { after: 'x' }));
    await expect(bad).rejects.toBeInstanceOf(CursorInvalidError);
    const other = all(harness.follow('ses_other', { after: cursor }));
    await expect(other).rejects.toThrow(`not of ses_other`);
  });
});

describe('cancel and approve', () => {
  it('cancels a goal, and its run says so', async () => {
    await world.during(harness.cancel('early', { reason: 'not needed', requestedBy: 'ann' }));
    const error = await world.during(
      harness.run({ ...echo, id: 'early' }).catch((thrown) => thrown),
    );
    expect(error).toBeInstanceOf(GoalCancelledError);
  });

  it('writes a decision to the approvals topic, keyed by its session', async () => {
    const session = harness.session('g');
    const decision = { approval: 'apr_1', decision: 'granted', decidedBy: 'ann' } as const;
    const at = await world.during(session.approve(decision));
    const [record] = world.cluster.records(at);
    expect(at.topic).toBe(approvalsTopic);
    expect(record?.key).toBe(session.id);
    const body: unknown = JSON.parse(Buffer.from(record?.value ?? []).toString());
    expect(body).toEqual({ session: session.id, ...decision });
  });
});

it('does nothing any more once it is closed', async () => {
  await harness.close();
  await expect(harness.run(echo)).rejects.toBeInstanceOf(HarnessClosedError);
  expect(() => harness.cancel('x')).toThrow(HarnessClosedError);
});

describe('what models say', () => {
  const told = (session: string, text: string) => ({
    key: session,
    headers: {},
    value: Buffer.from(JSON.stringify({ session, call: 'c', claim: 1, try: 1, at: 0, text })),
  });

  it('is heard from now on, by who asks for it, of its own session', async () => {
    const { session } = await world.during(harness.submit({ ...echo, id: 'heard' }));
    const log = world.connect('gateway');
    const at = { topic: tokensTopic, partition: partitionOf(session, 2) };
    await world.during(log.append(at, [told(session, 'too early')]));
    const heard: string[] = [];
    const onTokens = ({ text }: { text: string }): void => {
      heard.push(text);
    };
    const updates = harness.follow(session, { onTokens });
    const first = await world.during(updates.next());
    const junk = { key: session, headers: {}, value: Buffer.from('{"text": 1}') };
    const records = [told('ses_other', 'of another'), junk, told(session, 'now')];
    await world.during(log.append(at, records));
    const rest = await world.during(all(updates));
    expect(heard).toEqual(['now']);
    // Without it all comes as it does with it.
    const plain = await world.during(all(harness.follow(session)));
    expect(typesOf([first.value as Update, ...rest])).toEqual(typesOf(plain));
    await log.close();
  });

  it('what the listener throws ends the waiting', async () => {
    const { session } = await world.during(harness.submit({ ...echo, id: 'thrown' }));
    const onTokens = (): void => {
      throw new Error('enough');
    };
    const updates = harness.follow(session, { onTokens });
    await world.during(updates.next());
    const log = world.connect('gateway');
    const at = { topic: tokensTopic, partition: partitionOf(session, 2) };
    await world.during(log.append(at, [told(session, 'now')]));
    await expect(world.during(all(updates))).rejects.toThrow('enough');
    await log.close();
  });
});
