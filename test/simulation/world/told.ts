import type { LogRecord } from '../../../services/chassis/log/port.ts';

const ofType =
  (type: string) =>
  (records: readonly LogRecord[]): readonly LogRecord[] =>
    records.filter(({ headers }) => headers['ce_type'] === type);

/** Of all that is told to everybody: the results. */
export const resultsIn = ofType('longrein.result.v1');

/** And what was told of parts of plans before them. */
export const partsIn = ofType('longrein.progress.v1');
