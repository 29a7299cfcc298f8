import { describe, expect, test } from 'vitest';
import {
  compileTemplate,
  expressionsOf,
} from '../../../../../services/chassis/expressions/template.ts';

const data = { input: { path: 'a.json', sizes: [1, 2] }, steps: { read: { content: 'text' } } };
const evaluate = (template: Parameters<typeof compileTemplate>[0]) =>
  compileTemplate(template, 'here').evaluate(data);

describe('a template', () => {
  test('gives values without an expression as they are', () => {
    const template = {
      text: 'plain',
      number: 1,
      nothing: null,
      yes: true,
      list: [1, ['x']],
      empty: {},
    };
    expect(evaluate(template)).toEqual(template);
  });

  test('replaces texts that start with = at any depth', () => {
    expect(evaluate({ deep: [{ path: '=input.path' }, '=$sum(input.sizes)'] })).toEqual({
      deep: [{ path: 'a.json' }, 3],
    });
    expect(evaluate('=steps.read')).toEqual({ content: 'text' });
  });

  test('takes == as a text that starts with =', () => {
    expect(evaluate(['==', '==a', '===a', ' =input'])).toEqual(['=', '=a', '==a', ' =input']);
  });

  test('gives null where an expression selects nothing', () => {
    expect(evaluate({ none: '=input.none' })).toEqual({ none: null });
  });

  test('keeps lists of one and of none', () => {
    const one = compileTemplate({ list: '=input.list' }, 'here');
    expect(one.evaluate({ input: { list: ['x'] } })).toEqual({ list: ['x'] });
    expect(one.evaluate({ input: { list: [] } })).toEqual({ list: [] });
  });

  test('keeps a member that is called __proto__ as a member', () => {
    const template = JSON.parse('{"__proto__": "=input.path"}');
    expect(JSON.stringify(evaluate(template))).toBe('{"__proto__":"a.json"}');
  });

  test('is deterministic and leaves its data alone', () => {
    const frozen = JSON.parse(JSON.stringify(data), (_key, value) => Object.freeze(value));
    const compiled = compileTemplate({ all: '=input', sum: '=$sum(input.sizes)' }, 'here');
    expect(JSON.stringify(compiled.evaluate(frozen))).toBe(
      JSON.stringify(compiled.evaluate(frozen)),
    );
  });
});

describe('an error of a template', () => {
  test('names the member whose expression is not valid', () => {
    const template = { code: ['fine', '=1 +'] };
    expect(() => compileTemplate(template, 'steps[2].arguments')).toThrow(
      expect.objectContaining({
        code: 'EXPRESSION_INVALID',
        message: expect.stringContaining('steps[2].arguments.code[1]'),
      }),
    );
  });

  test('names the member whose expression fails over the data', () => {
    const compiled = compileTemplate({ 'two words': '=input.path + 1' }, 'tasks[0].input');
    expect(() => compiled.evaluate(data)).toThrow(
      expect.objectContaining({
        code: 'EXPRESSION_FAILED',
        message: expect.stringContaining('tasks[0].input["two words"]'),
      }),
    );
  });

  test('is the same for a source that stands in two places, but for the place', () => {
    const compileAt = (where: string) => () => compileTemplate('=nope(', where);
    expect(compileAt('first')).toThrow('first');
    expect(compileAt('second')).toThrow('second');
  });

  test.each(['=$now()', '=$millis()', '=$random()', '=$eval("1")'])('refuses %s', (source) => {
    expect(() => compileTemplate(source, 'here')).toThrow(
      expect.objectContaining({ code: 'EXPRESSION_INVALID' }),
    );
  });
});

describe('the expressions of a template', () => {
  test('are listed in order, with path, place and source', () => {
    const found = [...expressionsOf({ a: ['=x', '==y', 'z'], b: { c: '=w' } }, 'input', ['input'])];
    expect(found).toEqual([
      { path: ['input', 'a', 0], where: 'input.a[0]', source: 'x' },
      { path: ['input', 'b', 'c'], where: 'input.b.c', source: 'w' },
    ]);
  });
});

test('more templates than are kept compiled still give their own values', () => {
  const all = Array.from({ length: 1100 }, (_, index) => compileTemplate(`=${index}`, 'many'));
  expect(all.map((each) => each.evaluate({}))).toEqual(all.map((_, index) => index));
  expect(compileTemplate('=0', 'many').evaluate({})).toBe(0);
});
