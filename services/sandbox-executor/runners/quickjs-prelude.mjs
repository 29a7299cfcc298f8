/**
 * Code of the guest, run inside every sandbox before the code that was sent. It gives that code a
 * `console` and the runner three functions: text of a value, account of what was thrown, values of
 * the input. All built-ins are taken before foreign code can replace them; a guest that breaks this
 * code anyway only cheats itself, because the host bounds again whatever it takes out.
 *
 * `guest` is never called here: its source text is evaluated in QuickJS. It must not refer to
 * anything outside.
 */
function guest(print, limits) {
  const { stringify, parse } = JSON;
  const finite = Number.isFinite;
  const { isArray } = Array;
  const text = String;
  const failure = Error;
  const wrong = TypeError;
  const kinds = [Map, Set, Promise];
  const cut = Function.prototype.call.bind(String.prototype.slice);
  const join = Function.prototype.call.bind(Array.prototype.join);
  let printable = limits.printCharacters;

  function show(value) {
    if (typeof value === 'string') return value;
    if (value instanceof failure) return `${value.name}: ${value.message}`;
    if (typeof value !== 'object' || value === null) return text(value);
    try {
      return stringify(value) ?? text(value);
    } catch {
      return '[object]';
    }
  }

  function log(...values) {
    const shown = [];
    for (let index = 0; index < values.length; index += 1) shown[index] = show(values[index]);
    const line = `${join(shown, ' ')}\n`;
    // One character too many is what tells the host that the bound was passed.
    print(cut(line, 0, printable + 1));
    printable = line.length > printable ? 0 : printable - line.length;
  }

  function refuse(key, what) {
    const where = key === '' ? 'The returned value' : `The member "${cut(text(key), 0, 100)}"`;
    throw new wrong(`${where} is ${what}, which JSON cannot hold`);
  }

  function check(key, value) {
    if (typeof value === 'number' && !finite(value)) refuse(key, text(value));
    if (typeof value === 'function' || typeof value === 'symbol') refuse(key, `a ${typeof value}`);
    if (typeof value === 'bigint') refuse(key, 'a BigInt');
    if (value === undefined && (key === '' || isArray(this))) refuse(key, 'undefined');
    for (let index = 0; index < kinds.length; index += 1) {
      if (value instanceof kinds[index]) refuse(key, `a ${kinds[index].name}`);
    }
    return value;
  }

  function describe(thrown) {
    const isError = thrown instanceof failure;
    const name = isError ? text(thrown.name) : '';
    const message = isError ? text(thrown.message) : show(thrown);
    const stack = isError ? text(thrown.stack) : '';
    return stringify([
      cut(name, 0, 100),
      cut(message, 0, limits.messageCharacters),
      cut(stack, 0, 4000),
    ]);
  }

  globalThis.console = { log, info: log, warn: log, error: log, debug: log };
  return { toJson: (value) => stringify(value, check), describe, parse };
}

export const preludeSource = `(${guest})`;
