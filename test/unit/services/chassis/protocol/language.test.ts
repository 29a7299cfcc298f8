import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../../schemas/json.ts';
import type { Upcasts } from '../../../../../schemas/upcasts.ts';
import {
  createLanguage,
  releaseLanguage,
} from '../../../../../services/chassis/protocol/language.ts';
import { sealEvent } from '../../../../../services/chassis/protocol/seal.ts';
import {
  foldEntry,
  newEntry,
  type ServiceEntry,
} from '../../../../../services/chassis/protocol/service-fold.ts';
import {
  problemOfDraft,
  problemOfEvent,
} from '../../../../../services/chassis/protocol/validate.ts';
import { idleLogic, opening, skipped, turn } from '../../../../support/placed-record.ts';

/** An event type of three versions, as no release has one yet: a count, then a list, then a list under another name. */
function schema(version: number, member: string, type: JsonObject): JsonObject {
  return {
    $id: `urn:longrein:event:task.weighed:v${version}`,
    type: 'object',
    additionalProperties: false,
    properties: {
      type: { const: 'task.weighed' },
      version: { const: version },
      data: {
        type: 'object',
        additionalProperties: false,
        properties: { [member]: type },
        required: [member],
      },
    },
    required: ['type', 'version', 'data'],
  };
}

const list = { type: 'array', items: { type: 'integer' } };
const versions = [
  schema(1, 'grams', { type: 'integer' }),
  schema(2, 'weights', list),
  schema(3, 'grams', list),
];
const chain: Upcasts = {
  'task.weighed': {
    1: ({ data }) => ({ data: { weights: [data['grams'] ?? 0] } }),
    2: ({ data, ...rest }) => ({ ...rest, data: { grams: data['weights'] ?? [] } }),
  },
};
const language = createLanguage(versions, chain);

const weighed = (version: number, data: JsonObject) => ({ type: 'task.weighed', version, data });

describe('an event of an older version', () => {
  test.each([
    [1, { grams: 7 }],
    [2, { weights: [7] }],
    [3, { grams: [7] }],
  ])('%i is understood in the newest one', (version, data) => {
    expect(language.understand(weighed(version, data))).toEqual(weighed(3, { grams: [7] }));
  });

  test('keeps its contents and who it names as its readers', () => {
    const content = { note: { digest: 'd', mediaType: 'text/plain', bytes: 1 } };
    const written = { ...weighed(2, { weights: [] }), content, readers: ['planner'] };
    expect(language.understand(written)).toEqual({
      ...weighed(3, { grams: [] }),
      content,
      readers: ['planner'],
    });
  });

  test('reaches folds in the newest one, from a record that stays as it was written', () => {
    const logic = idleLogic<readonly unknown[]>({
      initial: () => [],
      language: createLanguage([...versions, ...schemasOf('session.opened')], chain),
      evolve: (seen, { type, version, data }) => [...seen, { type, version, data }],
    });
    const record = turn(1, [skipped('a')]);
    const body = {
      ...record.body,
      events: [weighed(1, { grams: 7 }), weighed(2, { weights: [8] })],
    };
    const entry = [opening(0), { ...record, body } as typeof record].reduce<ServiceEntry>(
      (now, one) => foldEntry(logic, now, { record: one }),
      newEntry(logic, 'ses_one'),
    );
    expect(entry.standBy).toBeUndefined();
    expect((entry.state as unknown[]).slice(1)).toEqual([
      weighed(3, { grams: [7] }),
      weighed(3, { grams: [8] }),
    ]);
    expect(body.events[0]).toEqual(weighed(1, { grams: 7 }));
  });
});

const schemasOf = (type: string): JsonObject[] => {
  const known = releaseLanguage.schemaOf(type, 1);
  return known === undefined ? [] : [known];
};

test('what a release does not know, by type or by version, it does not understand', () => {
  expect(language.understand(weighed(4, {}))).toBeUndefined();
  expect(language.understand({ ...weighed(1, {}), type: 'task.tasted' })).toBeUndefined();
  expect(releaseLanguage.understand(weighed(1, { grams: 7 }))).toBeUndefined();
});

test('an older version without an upcast to the next stops the release before it starts', () => {
  expect(() => createLanguage(versions, {})).toThrow(
    'event task.weighed version 1 has no upcast to the next',
  );
  expect(() => createLanguage(versions.slice(1), chain)).not.toThrow();
});

describe('an event that is written', () => {
  const draft = { type: 'task.weighed', data: { grams: [1] } } as never;

  test('has the newest version, and is checked against it', () => {
    expect(sealEvent('salt', draft, language)).toEqual(weighed(3, { grams: [1] }));
    expect(problemOfDraft(draft, language)).toBeUndefined();
    const wrong = { type: 'task.weighed', data: { grams: 1 } } as never;
    expect(problemOfDraft(wrong, language)).toBe('event task.weighed: /data/grams must be array');
    expect(problemOfEvent(weighed(1, { grams: 7 }), language)).toBeUndefined();
  });

  test('names its readers where its schema does', () => {
    const named = createLanguage([{ ...schema(1, 'grams', list), 'x-readers': ['planner'] }]);
    const sealed = sealEvent('salt', draft, named);
    expect(sealed).toEqual({ ...weighed(1, { grams: [1] }), readers: ['planner'] });
    expect(problemOfEvent(sealed, named)).toBeUndefined();
  });
});
