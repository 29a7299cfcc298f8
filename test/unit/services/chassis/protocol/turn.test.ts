import { describe, expect, test } from 'vitest';
import { type FactsInput, noFacts } from '../../../../../services/chassis/protocol/decision.ts';
import type { TurnBody } from '../../../../../services/chassis/protocol/record.ts';
import { recordHash } from '../../../../../services/chassis/protocol/seal.ts';
import { foldEntry, newEntry } from '../../../../../services/chassis/protocol/service-fold.ts';
import { buildTurn, factsOf, recordFacts } from '../../../../../services/chassis/protocol/turn.ts';
import {
  cancel,
  completed,
  idleLogic,
  input,
  opening,
  session,
  skipped,
} from '../../../../support/placed-record.ts';

const logic = idleLogic<null>({
  initial: () => null,
  answers: (seen) => seen.type === 'session.cancel-requested',
});
const entry = [opening(), input(1, cancel())].reduce(
  (before, record) => foldEntry(logic, before, { record }),
  newEntry(logic, session),
);
const author = { epoch: 4, incarnation: 'inc', release: '1.2.3' };
const facts: FactsInput = {
  nowMs: 1_000,
  delivered: ['trn_0#1'],
  lost: { c: 'deadline' },
  service: { price: 3 },
  attachments: { list: [{ b: 1, a: 2 }] },
};
const made = { drafts: [skipped('a')], facts, author, foreseen: ['trn_f'] };

describe('a turn', () => {
  const { id, body } = buildTurn(logic, entry, made);

  test('says from what it was decided, by whom, with what', () => {
    expect(body).toMatchObject({
      kind: 'turn',
      session,
      service: 'supervisor',
      ...author,
      base: 'inp_1',
      baseOffset: 1,
      foreseen: ['trn_f'],
      causes: [{ record: 'inp_1', index: 0 }],
      behaviour: 1,
      atMs: 1_000,
      tenant: 'acme',
      principal: 'mary',
      labels: { team: 'red' },
      events: [{ type: 'task.skipped', version: 1 }],
    });
    expect(body.root).toBeUndefined();
    expect(id).toBe(`trn_${recordHash(body).slice(0, 32)}`);
  });

  test('names the checkpoint that its state started from', () => {
    expect(buildTurn(logic, { ...entry, root: 'ckp_1' }, made).body.root).toBe('ckp_1');
  });

  test('has another id when any member is another; none for the same decision again', () => {
    expect(buildTurn(logic, entry, made).id).toBe(id);
    const changes: Partial<Record<keyof TurnBody, unknown>> = {
      session: 'ses_two',
      service: 'planner',
      epoch: 5,
      incarnation: 'other',
      base: 'inp_0',
      baseOffset: 0,
      root: 'ckp_1',
      foreseen: [],
      causes: [],
      facts: { data: { nowMs: 1_001 } },
      behaviour: 2,
      release: '1.2.4',
      atMs: 1_001,
      tenant: 'other',
      principal: 'eve',
      labels: {},
      events: [],
    };
    const hash = recordHash(body);
    for (const [member, value] of Object.entries(changes))
      expect(recordHash({ ...body, [member]: value }), member).not.toBe(hash);
    expect(Object.keys(changes).sort()).toEqual(
      [...Object.keys(body), 'root'].filter((name) => name !== 'kind').sort(),
    );
  });

  test('has another id when a content is another, and the same one wherever the content is', () => {
    const outcome = buildTurn(logic, entry, { ...made, drafts: [completed('c', 'x#0')] });
    const [first] = outcome.body.events;
    const content = first?.content?.['result'];
    if (first === undefined || content === undefined) throw new Error('no content');
    const { body: _inline, ...rest } = content;
    const spilled = { ...first, content: { result: { ...rest, blob: rest.digest } } };
    const hash = recordHash(outcome.body);
    expect(recordHash({ ...outcome.body, events: [spilled] })).toBe(hash);
    const other = { ...first, content: { result: { ...content, digest: 'f'.repeat(64) } } };
    expect(recordHash({ ...outcome.body, events: [other] })).not.toBe(hash);
  });
});

describe('facts', () => {
  const bodyWith = (given: FactsInput): TurnBody =>
    ({ facts: recordFacts(session, given) }) as unknown as TurnBody;

  test('come back from a turn as the decision saw them', () => {
    expect(factsOf(bodyWith(facts))).toEqual(facts);
    expect(factsOf(bodyWith(noFacts(7)))).toEqual(noFacts(7));
  });

  test('that are nothing take no room', () => {
    expect(recordFacts(session, noFacts(7))).toEqual({ data: { nowMs: 7 } });
  });

  test('that somebody wrote stand as content, under a digest', () => {
    const recorded = recordFacts(session, facts);
    expect(JSON.stringify(recorded.data)).not.toContain('list');
    expect(recorded.content?.['list']).toMatchObject({
      mediaType: 'application/json',
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      body: [{ a: 2, b: 1 }],
    });
  });
});
