import type { LogRecord, OutgoingRecord } from '../../../services/chassis/log/port.ts';

/** Records in a session log that are nobody's: of other programs, or with our headers and a value that cannot be read. */
export const strangeKinds = [
  'foreign: no headers',
  'foreign: headers that lie',
  'poison: not framed',
  'poison: no JSON',
  'poison: another shape',
  'poison: empty',
] as const;

export type StrangeKind = (typeof strangeKinds)[number];

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
/** A frame with the id of the schema of inputs. */
const framed = (text: string): Uint8Array =>
  Buffer.concat([Buffer.from([0, 0, 0, 0, 2]), bytes(text)]);

function bytesOf(kind: StrangeKind): Uint8Array | null {
  switch (kind) {
    case 'poison: empty':
      return null;
    case 'poison: no JSON':
      return framed('{"kind":');
    case 'poison: another shape':
      return framed('{"kind":"turn","events":7}');
    default:
      return bytes('who are you?');
  }
}

/** `like`: an input of the partition; poison has its headers, but for its id. */
export function strangeRecord(
  kind: StrangeKind,
  id: string,
  like: LogRecord | undefined,
): OutgoingRecord {
  const key = like?.key ?? 'anything';
  if (kind === 'foreign: no headers') return { key, headers: {}, value: bytesOf(kind) };
  const headers = { lr_kind: 'input', lr_types: 'tool.completed', ...like?.headers, ce_id: id };
  if (kind !== 'foreign: headers that lie') return { key, headers, value: bytesOf(kind) };
  return { key, headers: { ...headers, lr_epoch: 'the first' }, value: bytesOf(kind) };
}
