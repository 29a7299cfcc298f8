import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readFromLog } from '../../../replay-tools/read/kafka.ts';
import { effectiveEvents, judgeSession } from '../../../replay-tools/read/session.ts';
import type { SeenEvent } from '../../../schemas/event.ts';
import { createDirectoryBlobs } from '../../../services/chassis/content/blobs.ts';
import { contextsOf, type ModelContext } from '../../../services/chassis/context/model-context.ts';
import { createFixedCodec } from '../../../services/chassis/log/codec.ts';
import { createKafkaLog } from '../../../services/chassis/log/kafka/kafka-log.ts';
import type { LogPort } from '../../../services/chassis/log/port.ts';
import { Harness } from '../../../services/client/harness.ts';
import {
  type ApprovalRequest,
  readRequests,
} from '../../../services/console/cli/approvals/topic.ts';
import { filesOfDocument, temporaryCatalog } from '../../support/document-files.ts';
import { GoalDesk, type Result } from '../../support/goal-desk.ts';
import { LiveHost } from '../../support/live-hosts.ts';
import { examples, stackUnderTest } from '../../support/live-stack.ts';
import { SessionLogs } from '../../support/session-log.ts';
import { expectVerified } from '../../support/session-proof.ts';

/** The examples of docs/agents.md, as they stand there, on a real broker with a real MCP server. */

const stack = stackUnderTest();
const directory = temporaryCatalog(filesOfDocument('docs/agents.md'));
let host: LiveHost;
let result: Result;
let events: readonly SeenEvent[];
let contexts: readonly ModelContext[];

async function eventsOfSession(session: string): Promise<readonly SeenEvent[]> {
  const log = createKafkaLog({ brokers: stack.brokers, clientId: 'agents-test' });
  const parts = { log, codec: createFixedCodec(), blobs: createDirectoryBlobs(stack.blobDir) };
  const judged = await judgeSession(await readFromLog(parts, session));
  await log.close();
  return effectiveEvents(judged);
}

beforeAll(async () => {
  host = await new LiveHost({
    stack,
    eventStore: false,
    catalog: [examples, directory.path],
  }).ready();
  const desk = await GoalDesk.open(stack);
  const logs = await SessionLogs.open(stack);
  result = await desk.result(await desk.submit({ plan: 'what-is-it' }));
  await logs.closed(result.session);
  events = await eventsOfSession(result.session);
  contexts = contextsOf(events);
  await logs.close();
  await desk.close();
});

afterAll(async () => {
  await host.remove();
  directory.remove();
});

const textOfAll = ({ messages }: ModelContext): string => JSON.stringify(messages);

describe('the agent of the document', () => {
  it('gives the result that the document says', () => {
    expect(result).toMatchObject({
      status: 'completed',
      output: { read: { name: 'longrein', licence: 'Apache-2.0' } },
    });
  });

  it('was asked for a summary, and went on with it in the place of what it had read first', () => {
    const steps = contexts.map(({ purpose, step, omitted }) => [purpose, step, omitted]);
    expect(steps).toEqual([
      ...[
        ['answer', 1, []],
        ['answer', 2, []],
        ['summary', 3, []],
      ],
      ...[
        ['answer', 3, [1]],
        ['answer', 4, [1]],
      ],
    ]);
    const [first, , summary, third] = contexts as [
      ...[ModelContext, ModelContext, ModelContext, ModelContext],
    ];
    expect(first.messages[0]).toMatchObject({
      role: 'system',
      text: expect.stringContaining('Your goal: Say what the project is called'),
    });
    expect(textOfAll(summary)).toContain('Result of files.read');
    expect(textOfAll(third)).toContain('package.json names the project longrein.');
    expect(textOfAll(third)).not.toContain('devDependencies');
    expect(textOfAll(third)).toContain('TERMS AND CONDITIONS');
  });

  it('was told what was wrong with its first output', () => {
    expect(contexts.at(-1)?.messages.at(-1)).toMatchObject({
      role: 'user',
      text: expect.stringContaining('Your answer is not JSON.'),
    });
  });

  it('stayed within its limit, by the count of who answered', () => {
    const counted = events.flatMap((one) =>
      one.type === 'model.completed' ? [one.data.inputTokens] : [],
    );
    expect(Math.max(...counted)).toBeLessThanOrEqual(4_400);
  });

  it('can be decided again, byte for byte', async () => {
    await expectVerified(stack, [result.session]);
  });
});

describe('the agents of the document that share work', () => {
  it('work side by side, and the last of them says what the task comes to', async () => {
    const desk = await GoalDesk.open(stack);
    const shared = await desk.result(await desk.submit({ plan: 'how-long' }));
    await desk.close();
    expect(shared).toMatchObject({
      status: 'completed',
      output: { note: 'Noted. lead says: The licence is long.' },
    });
    const given = (await eventsOfSession(shared.session)).flatMap((one) =>
      one.type === 'task.delegated' ? [`${one.data.delegated} ${one.data.to}`] : [],
    );
    expect(given).toEqual(['note/1 measurer', 'note/2 measurer', 'note/3 note-writer']);
    await expectVerified(stack, [shared.session]);
  });
});

describe('the agent of the document that asks a person', () => {
  it('waits for the answer, which came over longrein.approvals, and says who gave it', async () => {
    const log = createKafkaLog({ brokers: stack.brokers, clientId: 'approvals-test' });
    const harness = new Harness({ log });
    const { session } = await harness.submit({ plan: 'publish-it' });
    const watched = harness.session(session);
    const asked: string[] = [];
    for await (const update of watched.follow()) {
      if (update.kind !== 'event' || update.event.type !== 'person.asked') continue;
      const requests = await requestsOf(log, session);
      expect(requests).toMatchObject([
        { state: 'open', to: 'release manager', choices: ['publish', 'wait'], task: 'publish' },
      ]);
      asked.push(update.event.data.question);
      const approval = requests[0]?.approval ?? '';
      const decision = { approval, decision: 'answered', answer: 'publish' } as const;
      await watched.approve({ ...decision, decidedBy: 'ann' }, { id: `${session}-1` });
      await watched.approve({ ...decision, decidedBy: 'bob' });
    }
    expect((await watched.result()).output).toEqual({ publish: { publish: true, by: 'ann' } });
    expect(await requestsOf(log, session)).toMatchObject([
      { approval: asked[0], state: 'answered', answeredBy: 'ann' },
    ]);
    await harness.close();
    await log.close();
    await expectVerified(stack, [session]);
  });
});

/** What the topic says of the session; waits until something is there. */
async function requestsOf(log: LogPort, session: string): Promise<readonly ApprovalRequest[]> {
  for (let tries = 0; tries < 100; tries++) {
    const found = (await readRequests(log)).filter((one) => one.session === session);
    if (found.length > 0) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return [];
}
