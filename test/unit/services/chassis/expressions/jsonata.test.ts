import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../../../schemas/json.ts';
import { LongreinError } from '../../../../../services/chassis/errors.ts';
import {
  compileExpression,
  type ExpressionLimits,
  expressionLimits,
} from '../../../../../services/chassis/expressions/jsonata.ts';

const data = { name: 'Ada', numbers: [3, 1, 2], nested: { list: [{ n: 1 }, { n: 2 }] } };

function evaluate(source: string, input: JsonValue = data, limits?: ExpressionLimits): JsonValue {
  return compileExpression(source, 'a.yaml, answer', limits).evaluate(input);
}

function errorOf(action: () => unknown): LongreinError {
  try {
    action();
  } catch (thrown) {
    if (thrown instanceof LongreinError) return thrown;
    throw thrown;
  }
  throw new Error('nothing was thrown');
}

function deepFreeze(value: JsonValue): JsonValue {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(deepFreeze);
    Object.freeze(value);
  }
  return value;
}

describe('an expression', () => {
  it('gives plain values, arrays and objects', () => {
    expect(evaluate('name & "!"')).toBe('Ada!');
    expect(evaluate('$sum(numbers)')).toBe(6);
    expect(evaluate('nested.list.n')).toEqual([1, 2]);
    expect(evaluate('{"total": $count(nested.list), "first": nested.list[0]}')).toEqual({
      total: 2,
      first: { n: 1 },
    });
    expect(evaluate('$map(numbers, function($v, $i) { $v * $i })')).toEqual([0, 1, 4]);
    expect(evaluate('$substring(?, 0, 2)(name)')).toBe('Ad');
    expect(evaluate('name ~> $uppercase')).toBe('ADA');
  });

  it('gives null for what is not there', () => {
    expect(evaluate('missing.field')).toBeNull();
    expect(evaluate('[1, missing, null]')).toEqual([1, null]);
    expect(evaluate('{"a": missing}')).toEqual({});
  });

  it('gives arrays without the properties of the evaluator', () => {
    for (const source of ['nested.list.n', '[1..3]', '$append(1, 2)', '$', '*', 'numbers[]']) {
      const result = evaluate(source, deepFreeze(data));
      if (!Array.isArray(result)) continue;
      expect(Object.keys(result)).toEqual(result.map((_item, index) => String(index)));
      expect(Object.getOwnPropertyNames(result)).toHaveLength(result.length + 1);
    }
  });

  it('knows nothing of an earlier evaluation', () => {
    const expression = compileExpression('($seen := $seen + 1; $exists($seen))', 'x');
    expect([expression.evaluate(1), expression.evaluate(1)]).toEqual([false, false]);
  });
});

describe('compiling', () => {
  it('names the place, the line and the column of a mistake', () => {
    const error = errorOf(() => compileExpression('{"a": 1,\n  "b" 2}', 'plans/a.yaml, answer'));
    expect(error.code).toBe('EXPRESSION_INVALID');
    expect(error.message).toContain('plans/a.yaml, answer');
    expect(error.message).toContain('at line 2, column 7');
    expect(error.fix).toBeTruthy();
  });

  it.each([
    '$now()',
    '$millis()',
    '$random()',
    '$shuffle([1,2])',
    '$eval("1")',
    '($f := $random; $f())',
    '$map([1], $random)',
    '[1, {"a": [$now()]}]',
    'function($x) { $millis() }(1)',
    'numbers ~> $shuffle',
    'numbers ~> | $ | {"a": $random()} |',
    'numbers^($random())',
    'numbers[$random() > 0.5]',
    'nested.list{$string($random()): n}',
    'nested.list@$now.n',
    'nested.list#$millis.n',
    '$random(?)',
    '($now := 1; $now)',
  ])('refuses %s, which would not depend on the data alone', (source) => {
    const error = errorOf(() => compileExpression(source, 'x'));
    expect(error.code).toBe('EXPRESSION_INVALID');
    expect(error.message).toMatch(/line 1, column \d+/);
  });

  it.each([
    '($__evaluate_entry := false; 1)',
    'nested.list@$__evaluate_exit.n',
    'constructor',
    'nested."constructor".constructor',
    '$.__proto__',
    '$toString()',
  ])('refuses %s, which reaches outside the data', (source) => {
    expect(errorOf(() => compileExpression(source, 'x')).code).toBe('EXPRESSION_INVALID');
  });

  it.each(['/(a+)+$/', '/(?:a|ab)*c/', '/(\\w*\\d)+/', '/(a)\\1/', '/(x+y){9}/'])(
    'refuses the slow regular expression %s',
    (pattern) => {
      expect(errorOf(() => compileExpression(`$match(name, ${pattern})`, 'x')).code).toBe(
        'EXPRESSION_INVALID',
      );
    },
  );

  it.each(['/^A(d|x)a?$/', '/[a-z(+)]+/i', '/(?:ab){2}c*/', '/\\(a+\\)*/'])(
    'accepts the regular expression %s',
    (pattern) => {
      expect(typeof evaluate(`$contains(name, ${pattern})`)).toBe('boolean');
    },
  );

  it('refuses a source that is too long or nested without end', () => {
    const long = errorOf(() => compileExpression(`"${'x'.repeat(70_000)}"`, 'x'));
    const deep = errorOf(() => compileExpression('('.repeat(60_000), 'x'));
    expect([long.code, deep.code]).toEqual(['EXPRESSION_INVALID', 'EXPRESSION_INVALID']);
  });
});

describe('an evaluation stays inside its data', () => {
  it.each([
    '(function($x) { $x }).environment.lookup("random")()',
    '($f := function($x) { $x }; $f.environment)',
    '{"f": function($x) { $x }}.**',
    '{"f": function($x) { $x }}.*',
    '$ ~> | $sum | {"implementation": 5} |',
    '$sum.implementation',
    '$sum^(signature)',
    '$sum{"a": implementation}',
    'nested()',
    'nested.list[0]("x")',
    '$lookup($sum, "implementation")()',
    '$lookup(nested, "constructor")("return 1")',
    '$sum',
  ])('%s fails and changes nothing', (source) => {
    const before = JSON.stringify(data);
    expect(errorOf(() => evaluate(source)).code).toBe('EXPRESSION_FAILED');
    expect(JSON.stringify(data)).toBe(before);
    expect(evaluate('$sum(numbers)')).toBe(6);
  });

  it('reads own fields only through $lookup', () => {
    expect(evaluate('$lookup(nested, "constructor")')).toBeNull();
    expect(evaluate('$lookup($, "name")')).toBe('Ada');
    expect(evaluate('$lookup([{"a": 1}, {"a": [2, 3]}, {}], "a")')).toEqual([1, 2, 3]);
    expect(evaluate('$lookup($, "constructor")', { constructor: 'mine' })).toBe('mine');
  });

  it('copies the data before a transform may write to it', () => {
    const source = '($ ~> | $$.nested.list | {"n": 9} |; $$.nested.list.n)';
    const before = JSON.stringify(data);
    evaluate(source);
    expect(JSON.stringify(data)).toBe(before);
    expect(evaluate('nested ~> | list | {"n": n + 1} |')).toEqual({ list: [{ n: 2 }, { n: 3 }] });
  });
});

describe('an evaluation that fails', () => {
  it('says where, without the values of the data', () => {
    const error = errorOf(() => evaluate('$number(secret)', { secret: 'tok-en-12' }));
    expect(error.code).toBe('EXPRESSION_FAILED');
    expect(error.message).toContain('a.yaml, answer');
    expect(error.message).not.toContain('tok-en-12');
  });

  it('says what the author wrote in $error', () => {
    expect(errorOf(() => evaluate('$error("no total in the report")')).message).toContain(
      'no total in the report',
    );
  });

  it('gives the same text whatever was evaluated before', () => {
    const failing = (): string => errorOf(() => evaluate('$map(["x"], $number)')).message;
    const first = failing();
    evaluate('             $number("12")');
    errorOf(() => evaluate('                        $number("nope")'));
    expect(failing()).toBe(first);
  });

  it('does not repeat the words of the host, which change with its version', () => {
    const error = errorOf(() => evaluate('{"__proto__": {"a": 1}}.a'));
    expect(error.code).toBe('EXPRESSION_FAILED');
    expect(error.message).toContain('the evaluator refused it');
  });

  it('refuses numbers that JSON cannot hold', () => {
    expect(errorOf(() => evaluate('1/0')).code).toBe('EXPRESSION_FAILED');
  });
});

describe('dates', () => {
  it('read as UTC where the text names no zone', () => {
    const instant = Date.UTC(2026, 0, 2, 3, 4, 5);
    expect(evaluate('$toMillis("2026-01-02T03:04:05")')).toBe(instant);
    expect(evaluate('$toMillis("2026-01-02T03:04:05Z")')).toBe(instant);
    expect(evaluate('$toMillis("2026-01-02T04:04:05+01:00")')).toBe(instant);
    expect(evaluate('$fromMillis($toMillis("2026-01-02"))')).toBe('2026-01-02T00:00:00.000Z');
  });

  it('complete missing parts from a fixed date, not from the clock', () => {
    expect(evaluate('$toMillis("13:45", "[H]:[m]")')).toBe((13 * 60 + 45) * 60_000);
  });
});

describe('the limits', () => {
  const small = { ...expressionLimits, stepsMax: 1_000, charactersMax: 100, itemsMax: 50 };

  it.each([
    '($f := function($n) { $f($n + 1) }; $f(0))',
    '($f := function($n) { 1 + $f($n + 1) }; $f(0))',
    '[1..100000]',
    '$map([1..40], function($i) { $map([1..40], function($j) { $i * $j }) })',
    '$pad("x", 100000000)',
    '($f := function($s, $n) { $n = 0 ? $s : $f($s & $s, $n - 1) }; $f("ab", 20))',
    '($f := function($s, $n) { $n = 0 ? $s : $f([[$s], [$s]], $n - 1) }; $f(1, 30))',
  ])('stop %s', (source) => {
    const error = errorOf(() => evaluate(source, data, small));
    expect(error.code).toBe('EXPRESSION_LIMIT');
    expect(error.fix).toBeTruthy();
  });

  it('stop deep recursion before the stack of the host ends', () => {
    const source = '($f := function($n) { $n = 0 ? 0 : 1 + $f($n - 1) }; $f(DEPTH))';
    expect(evaluate(source.replace('DEPTH', '60'))).toBe(60);
    const error = errorOf(() => evaluate(source.replace('DEPTH', '100000')));
    expect(error.message).toContain('400 levels');
  });

  it('stop at the same step each time', () => {
    const source = '$sum($map([1..9], function($v) { $v * 2 }))';
    const passes = (stepsMax: number): boolean => {
      try {
        return evaluate(source, data, { ...expressionLimits, stepsMax }) === 90;
      } catch {
        return false;
      }
    };
    const enough = Array.from({ length: 400 }, (_unused, steps) => steps).find(passes) ?? -1;
    expect(enough).toBeGreaterThan(20);
    expect([passes(enough), passes(enough - 1), passes(enough)]).toEqual([true, false, true]);
  });
});

describe('for any JSON', () => {
  const json = fc.jsonValue({ maxDepth: 4 }).map((value): JsonValue => {
    const plain: JsonValue = JSON.parse(JSON.stringify(value));
    return plain;
  });
  const sources = ['$', '*', '**', '$string($)', '[$]', '{"v": $}', '$keys($)', '$type($)'];
  sources.push('$distinct([$, $])', '$ ~> $append(1)', '$count($)', '$exists(a.b[0])', '$.*.*');
  const compiled = sources.map((source) => compileExpression(source, 'x'));

  it('the result is plain JSON, the same each time, and the data is left alone', () => {
    fc.assert(
      fc.property(json, fc.constantFrom(...compiled), (value, expression) => {
        const before = JSON.stringify(value);
        const result = expression.evaluate(value);
        expect(JSON.parse(JSON.stringify(result))).toEqual(result);
        expect(expression.evaluate(deepFreeze(value))).toEqual(result);
        expect(JSON.stringify(value)).toBe(before);
      }),
    );
  });

  it('the expression $ gives the data itself', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(evaluate('$', value)).toEqual(value);
      }),
    );
  });
});
