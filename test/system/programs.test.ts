import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Harness } from '../../services/client/index.ts';
import { blocksOf, runProgram, shownOutput, startProgram } from '../support/document-example.ts';
import { filesOfDocument, temporaryCatalog } from '../support/document-files.ts';
import { LiveHost } from '../support/live-hosts.ts';
import { examples, fixture, stackUnderTest } from '../support/live-stack.ts';
import { expectVerified } from '../support/session-proof.ts';

/** What other programs do with a running Longrein, and all that the documents and examples promise them. */

const stack = stackUnderTest();
let host: LiveHost;
let harness: Harness;
/** Of goals that completed. */
const sessions: string[] = [];

/** Runs a goal to its end, and remembers its session. */
async function run(goal: Parameters<Harness['run']>[0]) {
  const result = await harness.run(goal);
  sessions.push(result.session);
  return result;
}

const documented = temporaryCatalog(filesOfDocument('docs/client.md'));

beforeAll(async () => {
  host = await new LiveHost({
    ...{ stack, catalog: [examples, fixture('catalog'), documented.path], eventStore: false },
  }).ready();
  harness = new Harness({ brokers: stack.brokers });
});
afterAll(async () => {
  await harness.close();
  await host.remove();
  documented.remove();
});

/** What docs/plans.md says that an example gives. */
const shown = (example: string): string => shownOutput('plans.md', example);

describe('the client', () => {
  const [whole = '', more = '', parts = ''] = blocksOf('client.md', 'js');
  const env = { LONGREIN_BROKERS: stack.brokers.join(',') };

  it('asks in one call for what no plan is named for, as docs/client.md shows', async () => {
    const { status, lines, err } = await runProgram('one-call', whole, env);
    expect(err).toBe('');
    expect(lines.slice(0, 2).sort()).toEqual(['done: doubts', 'done: facts']);
    expect(lines.slice(2)).toEqual(['done: answer', ...shown('default').split('\n')]);
    expect(status).toBe(0);
  });

  it('does in a process of its own what docs/client.md shows', async () => {
    const { status, lines, err } = await runProgram('client', more, env);
    expect(err).toBe('');
    expect(lines.filter((line) => line.startsWith('done: '))).toHaveLength(7);
    expect(lines.slice(7)).toEqual([
      'completed longrein',
      'true completed',
      expect.stringMatching(/^[A-Z_]+ read$/) as string,
    ]);
    expect(status).toBe(0);
  });

  it('hears of the parts as docs/client.md shows', async () => {
    const { status, lines, err } = await runProgram('parts', parts, env);
    expect(err).toBe('');
    // The last part of all comes with the result.
    expect(lines).toEqual(['facts 1 List what is known. Nothing was given.']);
    expect(status).toBe(0);
  });
});

/** What a program was told: where it stands, and the cursor behind it. */
type Told = Readonly<{ of: string; type: string; at: string; cursor: string }>;

const following = `
import { Harness } from 'longrein';
const harness = new Harness({ brokers: process.env.LONGREIN_BROKERS.split(',') });
let { SESSION: session, AFTER: after } = process.env;
if (session === undefined) {
  ({ session, cursor: after } = await harness.submit({ plan: 'count', inputs: { counter: 'left-alone', waitMs: 300000 } }));
  console.log(JSON.stringify({ session, after }));
} else await harness.cancel(session, { reason: 'Nobody waits for it.', requestedBy: 'ann' });
for await (const { kind, of = '', event = {}, result, cursor } of harness.follow(session, { after })) {
  const { type = result?.status, record = kind, index = 0 } = event;
  console.log(JSON.stringify({ of, type, at: record + '#' + index, cursor }));
}
await harness.close();
`;

const parsedLines = (out: string): readonly Told[] =>
  out
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Told);

describe('a client that is killed', () => {
  it('leaves its goal to another process, which sees what the first has not, and calls it off', async () => {
    const env = { LONGREIN_BROKERS: stack.brokers.join(',') };
    const one = startProgram('left', following, env);
    await host.until(() => one.said.out.includes('task.scheduled'), 30_000, 'task of the client');
    one.child.kill('SIGKILL');
    await one.status;
    const [head, ...seen] = parsedLines(one.said.out);
    const { session, after } = head as unknown as Readonly<{ session: string; after: string }>;
    const last = seen.at(-1)?.cursor ?? after;
    const two = startProgram('found', following, { ...env, SESSION: session, AFTER: last });
    expect([await two.status, two.said.err]).toEqual([0, '']);
    const rest = parsedLines(two.said.out);
    expect(rest.at(-1)?.type).toBe('cancelled');
    expect(rest.map(({ type }) => type)).toContain('session.cancel-requested');
    // What somebody sees who was there all the time; the two logs of a goal are read side by side.
    const whole: string[] = [];
    for await (const update of harness.follow(session, { after })) {
      if (update.kind === 'event')
        whole.push(`${update.of} ${update.event.record}#${update.event.index}`);
    }
    const both = [...seen, ...rest.slice(0, -1)].map(({ of, at }) => `${of} ${at}`);
    for (const log of ['goal', 'session'])
      expect(both.filter((at) => at.startsWith(log))).toEqual(
        whole.filter((at) => at.startsWith(log)),
      );
    sessions.push(session);
  });
});

const data = 'deploy/examples/data';

describe('the examples', () => {
  it('research-team: a model plans, three look, one writes, an editor gives it back once', async () => {
    const events: string[] = [];
    const result = await run({
      plan: 'research-team',
      goal: 'Should we move our build to Node 22?',
      onEvent: ({ event }) => {
        if ('task' in event.data && event.type === 'task.completed') events.push(event.data.task);
      },
    });
    const { markdown } = result.output as { markdown: string };
    expect(markdown).toBe(shown('research-team'));
    expect(events.slice(0, 3).sort()).toEqual(['cost', 'people', 'risk']);
    expect(events.slice(3)).toEqual(['report:1', 'report:2', 'report:3', 'report:4', 'report']);
  });

  it('incident-helper: woken by alerts, ends with the one that is critical once a person approves', async () => {
    const { session } = await harness.submit({
      plan: 'incident-helper',
      id: `on-call-${process.pid}`,
    });
    const watched = harness.session(session);
    const alert = async (service: string) =>
      watched.signal('alert', { payload: { service, log: `${data}/${service}.log` } });
    for await (const update of watched.follow()) {
      if (update.kind !== 'event') break;
      if (update.event.type === 'task.expanded' && update.event.data.begins) await alert('shop');
      if (update.event.type === 'task.completed' && update.event.data.task === 'watch:1')
        await alert('search');
      if (update.event.type === 'person.asked') {
        const { question: approval } = update.event.data;
        await watched.approve({
          approval,
          decision: 'granted',
          decidedBy: 'ann',
          reason: 'Do it.',
        });
      }
    }
    const { output } = await watched.result();
    sessions.push(session);
    expect(output).toEqual(JSON.parse(shown('incident-helper')));
  });

  it('batch-classifier: a thousand messages, a quorum of two, and a third vote only where they differ', async () => {
    const result = await run({ plan: 'batch-classifier', budgetUsd: 0.5 });
    expect(result.output).toEqual(JSON.parse(shown('batch-classifier')));
  });

  it('page-speed: three specialists, one report, the most worth first', async () => {
    const result = await run({ plan: 'page-speed' });
    const { markdown, savedMs } = result.output as { markdown: string; savedMs: number };
    expect(savedMs).toBe(1_900);
    expect(markdown.trimEnd()).toBe(shown('page-speed'));
  });

  it('support-desk: the front hands on, the specialist has it looked up for a fifth of the money', async () => {
    const given: string[] = [];
    const aside: number[] = [];
    const result = await run({
      plan: 'support-desk',
      goal: 'I was charged twice for order 1042.',
      budgetUsd: 0.05,
      onEvent: ({ event }) => {
        if (event.type === 'task.delegated') given.push(`${event.data.kind} ${event.data.to}`);
        if (event.type === 'budget.set-aside') aside.push(event.data.setAsideNanoUsd);
      },
    });
    expect(result.output).toEqual({
      answeredBy: 'billing-specialist',
      reply: 'Order 1042 was charged 2 times. We pay 49 euros back.',
      refundEuro: 49,
    });
    expect(given).toEqual(['handoff billing-specialist', 'delegate order-lookup']);
    // The scripted models cost nothing, so nothing of the five cents is gone by then.
    expect(aside).toEqual([10_000_000]);
  });

  it('support-desk: another specialist knows what is broken, and the front answers itself what is nobody’s', async () => {
    const broken = await run({
      plan: 'support-desk',
      goal: 'The page parcel-tracking shows error 502.',
    });
    expect(broken.output).toEqual({
      answeredBy: 'technical-specialist',
      reply:
        'The carrier answers slowly since 08:10 and every third look at a parcel ends with error 502. We write to you when it works again.',
    });
    const other = await run({ plan: 'support-desk', goal: 'When do you open?' });
    expect(other.output).toMatchObject({ answeredBy: 'support-desk' });
  });
});

it('every session of the examples can be computed again from its log', async () => {
  await expectVerified(stack, sessions);
});
