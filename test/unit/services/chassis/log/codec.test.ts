import { describe, expect, test } from 'vitest';
import {
  createCodec,
  createFixedCodec,
  isFramed,
  schemaIdOf,
  subjects,
} from '../../../../../services/chassis/log/codec.ts';

describe('a framed value', () => {
  test('is a zero byte, the id of its schema in four bytes, and JSON in UTF-8', () => {
    const codec = createCodec(new Map([['turn', 0x01020304]]));
    const bytes = Buffer.from(codec.encode('turn', { text: 'é' }));
    expect([...bytes.subarray(0, 5)]).toEqual([0, 1, 2, 3, 4]);
    expect(bytes.toString('utf8', 5)).toBe('{"text":"é"}');
    expect(codec.decode(bytes)).toEqual({
      schemaId: 0x01020304,
      subject: 'turn',
      body: { text: 'é' },
    });
  });

  test('may stand within larger bytes, as a client hands it out', () => {
    const codec = createFixedCodec();
    const bytes = codec.encode('turn', { a: 1 });
    const larger = new Uint8Array([9, 9, ...bytes, 9]);
    expect(codec.decode(larger.subarray(2, 2 + bytes.length)).body).toEqual({ a: 1 });
  });

  test('of a newer release is read, under no name', () => {
    const newer = createCodec(new Map([['turn', 99]]));
    const decoded = createFixedCodec().decode(newer.encode('turn', { a: 1 }));
    expect(decoded).toEqual({ schemaId: 99, subject: undefined, body: { a: 1 } });
  });
});

test('the id of a schema can be read whatever follows it', () => {
  const newest = createCodec(new Map([['turn', 99]])).encode('turn', { a: 1 });
  expect(schemaIdOf(newest)).toBe(99);
  expect(schemaIdOf(Buffer.from([0, 0, 0, 0, 7, 123]))).toBe(7);
  expect(schemaIdOf(Buffer.from('{"a":1}'))).toBeUndefined();
});

describe('a value is refused', () => {
  const codec = createFixedCodec();

  test('that has no frame', () => {
    for (const bytes of [Buffer.from('{"a":1}'), Buffer.alloc(0), Buffer.from([0, 0, 0, 0, 1])])
      expect(() => codec.decode(bytes)).toThrow('does not start with a schema id');
  });

  test('that is no JSON', () => {
    const bytes = Buffer.concat([Buffer.from([0, 0, 0, 0, 1]), Buffer.from('{"a":')]);
    expect(() => codec.decode(bytes)).toThrow(/^the value is not JSON: /);
  });

  test('for a subject that was not registered', () => {
    expect(() => codec.encode('nothing', {})).toThrow('no schema id for nothing');
  });
});

test('plain JSON never looks framed', () => {
  expect(isFramed(Buffer.from('{"goal":"x"}'))).toBe(false);
  expect(isFramed(Buffer.from([0, 0, 0, 0, 7, 123]))).toBe(true);
});

test('fixed ids are the places of the subjects, from 1: recorded logs depend on them', () => {
  const codec = createFixedCodec();
  const ids = subjects.map((subject) => Buffer.from(codec.encode(subject, {})).readUInt32BE(1));
  expect(ids).toEqual(subjects.map((_subject, index) => index + 1));
  expect(subjects.slice(0, 9)).toEqual([
    'turn',
    'input',
    'checkpoint',
    'epoch',
    'goal',
    'result',
    'watermark',
    'presence',
    'dead-letter',
  ]);
});
