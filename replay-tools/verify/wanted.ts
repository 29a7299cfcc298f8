import { isPlaced, type JudgedRecord } from '../read/session.ts';

/** Which state of its service a record has to be checked against. */

export type Want = Readonly<{
  by: string;
  service: string;
  behaviour: number;
  root: string;
  at: string;
  /** The last record that it foresaw. */
  foreseen?: string | undefined;
}>;

/** Undefined for a record that says nothing of a state. */
export function wantOf({ record, verdict }: JudgedRecord): Want | undefined {
  if (verdict !== 'effective' || !isPlaced(record)) return undefined;
  const { body, header } = record;
  if (body.kind !== 'turn' && body.kind !== 'checkpoint') return undefined;
  const { service, root = '' } = body;
  const by = header.id;
  if (body.kind === 'turn') {
    const { behaviour, base: at, foreseen } = body;
    return { by, service, root, behaviour, at, foreseen: foreseen.at(-1) };
  }
  return { by, service, root, behaviour: body.behaviour ?? 1, at: body.cursor.record };
}
