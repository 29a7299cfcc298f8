import { describe, expect, test } from 'vitest';
import { redact } from '../../../../../services/chassis/telemetry/redact.ts';

const masked = '[redacted]';

describe('values under secret names are masked', () => {
  test.each([
    'password',
    'userPassword',
    'passwd',
    'passphrase',
    'passwords',
    'dbPass',
    'DB_PASS',
    'pass',
    'secret',
    'clientSecret',
    'token',
    'accessToken',
    'tokens',
    'authorization',
    'Authorization',
    'apiKey',
    'api_key',
    'x-api-key',
    'ANTHROPIC_API_KEY',
    'cookie',
    'set-cookie',
    'credentials',
    'privateKey',
  ])('%s', (name) => {
    expect(redact({ [name]: 'hunter2' })).toEqual({ [name]: masked });
    expect(redact({ [name]: ['hunter2'] })).toEqual({ [name]: masked });
    expect(redact({ [name]: { value: 'hunter2' } })).toEqual({ [name]: masked });
  });

  test('at any depth, in lists too', () => {
    const value = { a: [{ b: { headers: { authorization: 'Bearer x', accept: '*' } } }] };
    expect(redact(value)).toEqual({
      a: [{ b: { headers: { authorization: masked, accept: '*' } } }],
    });
  });
});

test('counts are not secrets', () => {
  const counts = {
    inputTokens: 10,
    outputTokens: 3,
    maxTokens: 100,
    tokenCount: 5,
    tokens: 7,
    tokensMax: 9,
    usage: { tokens: { input: 1, output: 2 } },
  };
  expect(redact(counts)).toEqual(counts);
});

test('other names stay', () => {
  const value = {
    key: 'nightly',
    session: 'ses_x',
    message: 'ok',
    compass: 'north',
    n: 1,
    no: null,
    hasToken: true,
  };
  expect(redact(value)).toEqual(value);
});

describe('text', () => {
  test('loses the password of every URL in it', () => {
    expect(redact('at https://ada:pw@host/x and redis://:pw@cache:6379')).toBe(
      `at https://ada:${masked}@host/x and redis://:${masked}@cache:6379`,
    );
    expect(redact({ url: 'http://localhost:9092/a@b', other: 'a:b@c' })).toEqual({
      url: 'http://localhost:9092/a@b',
      other: 'a:b@c',
    });
  });

  test('of an error loses it too', () => {
    const error = Object.assign(new TypeError('cannot reach http://a:pw@b'), { token: 'x' });
    expect(redact({ error })).toEqual({
      error: { name: 'TypeError', message: `cannot reach http://a:${masked}@b` },
    });
  });
});

test('it never changes what it is given, and ends where the value does not', () => {
  const value: { password: string; self?: unknown } = { password: 'x' };
  value.self = value;
  const copy = JSON.stringify(redact(value));
  expect(value.password).toBe('x');
  expect(copy).toContain('[too deep]');
  expect(copy).not.toContain('"x"');
});
