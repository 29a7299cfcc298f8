/** Dead letters and what people did with them, as the topic holds them. Pure. */
import type { LogRecord } from '../../../chassis/log/port.ts';
import { deadLetterType } from '../../../chassis/protocol/dead-letter.ts';
import { bodyOfRecord } from '../../../client/record-body.ts';

export const actType = 'longrein.dead-letter-act.v1';

export interface LetterValue {
  readonly reason: Readonly<{ code: string; message: string; fix?: string; field?: string }>;
  readonly origin: Readonly<{ topic: string; partition: number; offset: number }>;
  /** The bytes as they came, base64. */
  readonly original?: string;
  readonly session?: string;
  readonly service?: string;
  readonly record?: string;
  readonly goalId?: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly bytes?: number;
  readonly at: string;
}

export interface LetterAct {
  readonly letter: string;
  readonly act: 'retried' | 'discarded';
  readonly by: string;
  readonly reason: string;
  readonly goalId?: string;
  readonly at: string;
}

export interface Letter extends LetterValue {
  readonly id: string;
  readonly state: 'open' | 'retried' | 'discarded';
  readonly acts: readonly LetterAct[];
  /** Key of its record: what is done with it is written behind it. */
  readonly recordKey: string;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether a value has what every letter has. */
function isLetter(value: unknown): value is LetterValue {
  if (!isObject(value) || !isObject(value['reason']) || !isObject(value['origin'])) return false;
  return typeof value['at'] === 'string' && typeof value['reason']['code'] === 'string';
}

/** Letters in the order of their times, each once however often it was written. What is neither is passed over. */
export function lettersIn(records: readonly LogRecord[]): readonly Letter[] {
  const acts = new Map<string, LetterAct[]>();
  const found = new Map<string, { value: LetterValue; recordKey: string }>();
  for (const record of records) {
    const { ce_id: id = '', ce_type: type } = record.headers;
    const body = bodyOfRecord(record);
    if (type === actType && isObject(body)) {
      const act = body as unknown as LetterAct;
      acts.set(act.letter, [...(acts.get(act.letter) ?? []), act]);
    } else if (type === deadLetterType && id !== '' && isLetter(body) && !found.has(id))
      found.set(id, { value: body, recordKey: record.key });
  }
  const letters = [...found].map(([id, { value, recordKey }]): Letter => {
    const own = acts.get(id) ?? [];
    return { id, ...value, state: own.at(-1)?.act ?? 'open', acts: own, recordKey };
  });
  return letters.sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0));
}

export const originText = ({ origin }: LetterValue): string =>
  `${origin.topic}/${origin.partition}@${origin.offset}`;
