import type { Content } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import type { Happening, History } from '../read/history.ts';

/** Where values of a call came from, told by the values themselves. */

/** Shorter ones stand everywhere. */
const tellingLengthMin = 3;

/** Texts and numbers in a value that are long enough to be known again, as JSON text. */
function tellingIn(value: JsonValue): readonly string[] {
  if (value === null || typeof value === 'boolean') return [];
  if (typeof value !== 'object') {
    const text = JSON.stringify(value);
    return text.length >= tellingLengthMin ? [text] : [];
  }
  return Object.values(value).flatMap((member) => tellingIn(member as JsonValue));
}

const bodiesOf = ({ event }: Happening): string =>
  Object.values(event.content as Readonly<Record<string, Content>>)
    .map(({ body }) => JSON.stringify(body ?? null))
    .join('\n');

/** The newest input before a call that brought one of its arguments; undefined where none did. */
export function carrierOf(history: History, requested: Happening): Happening | undefined {
  const content = requested.event.content as Readonly<Record<string, Content | undefined>>;
  const values = tellingIn(content['arguments']?.body ?? null);
  if (values.length === 0) return undefined;
  return history.before(requested, (one) => {
    const bodies = one.isInput ? bodiesOf(one) : '';
    return bodies !== '' && values.some((value) => bodies.includes(value));
  });
}
