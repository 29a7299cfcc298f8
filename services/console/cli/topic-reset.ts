/**
 * Going on with a partition that does not hold what its watermarks need: a person gives up what it lost. Pure.
 *
 * The new place is written as a trim, and the marks go: every service starts there. Where the acceptance state of the
 * place is known it is kept; else all epochs that are known are void from there on, and new ones get higher numbers, so
 * that nobody who still lives can write into what is read now.
 */
import { firstGeneration } from '../../../schemas/topics.ts';
import { markKey, placeKey, type Trim, trimKey } from '../../chassis/host/watermark-records.ts';
import type { Entry, Watermarks } from '../../chassis/host/watermarks.ts';
import type { Bounds, PartitionName } from '../../chassis/log/port.ts';
import type { AcceptanceState } from '../../chassis/protocol/acceptance.ts';

type Known = Pick<Watermarks, 'at' | 'trimsAt' | 'placesAt' | 'listed'>;

/** Epochs that were asked for since the marks were written have lower numbers than so many above. */
const epochsBetween = 1_000;

/** Whether a host would refuse this partition as it is. */
export function isBroken(watermarks: Known, name: PartitionName, bounds: Bounds): boolean {
  const trim = watermarks.trimsAt(name).at(-1);
  const marks = watermarks.at(name);
  if (marks.length === 0 && trim === undefined) return bounds.low > 0;
  return [...marks, ...(trim === undefined ? [] : [trim])].some(({ offset }) => {
    const start = Math.max(offset, trim?.offset ?? 0);
    return start < bounds.low || start > bounds.high;
  });
}

/**
 * `sameTopic`: false where the topic was made again, and no known place means anything. `fromEnd`: all that is there is
 * given up.
 */
export function resetEntries(
  watermarks: Known,
  name: PartitionName,
  at: { bounds: Bounds; sameTopic: boolean; fromEnd?: boolean; nowMs: number },
): Entry[] {
  const { bounds, sameTopic, fromEnd = false, nowMs } = at;
  const marks = watermarks.at(name);
  const [trims, places] = [watermarks.trimsAt(name), watermarks.placesAt(name)];
  const all = [...marks, ...trims, ...places];
  const held = all
    .filter(({ offset }) => offset >= bounds.low && offset <= bounds.high)
    .sort((a, b) => a.offset - b.offset);
  const kept = sameTopic && !fromEnd ? held[0] : undefined;
  const end = sameTopic ? bounds.high : bounds.low;
  const offset = kept?.offset ?? end;
  const services = watermarks
    .listed()
    .filter(({ topics }) => topics.includes(firstGeneration(name.topic)));
  const acceptance =
    kept?.acceptance ??
    voided(
      all.map((one) => one.acceptance),
      services.map(({ service }) => service),
    );
  const trim: Trim = { ...name, offset, acceptance, atMs: nowMs };
  const gone = [
    ...marks.map((mark) => markKey(mark.service, mark)),
    ...trims.map(trimKey),
    ...places.map(placeKey),
  ].filter((key) => key !== trimKey(trim));
  return [...gone.map((key) => ({ key, value: undefined })), { key: trimKey(trim), value: trim }];
}

/** Every service's number is above all that anybody can have: also one that never had a watermark. */
function voided(known: readonly AcceptanceState[], listed: readonly string[]): AcceptanceState {
  const epochs = known.flatMap((state) => Object.values(state));
  const highest = Math.max(0, ...epochs.map(({ number }) => number)) + epochsBetween;
  const services = new Set([...listed, ...known.flatMap((state) => Object.keys(state))]);
  const epoch = { number: highest, incarnation: 'reset', sequence: 0 };
  return Object.fromEntries([...services].sort().map((service) => [service, { ...epoch }]));
}
