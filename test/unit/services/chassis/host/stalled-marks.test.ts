import { describe, expect, test } from 'vitest';
import { limits } from '../../../../../schemas/limits.ts';
import { stalledMarks } from '../../../../../services/chassis/host/stalled-marks.ts';
import type {
  ListedService,
  Watermark,
} from '../../../../../services/chassis/host/watermark-records.ts';

const name = { topic: 'longrein.sessions.normal', partition: 3 };
const nowMs = 10_000_000;
const listed: ListedService = { service: 'planner', topics: [name.topic], release: '1', atMs: 0 };

function found(given: {
  mark?: Partial<Watermark>;
  sinceMs?: number;
  high?: number;
  service?: Partial<ListedService>;
}) {
  const { mark, sinceMs = 0, high = 100_000 } = given;
  const whole = { ...name, service: 'planner', offset: 70, acceptance: {}, ...mark };
  const watermarks = {
    of: () => (mark === undefined ? undefined : whole),
    standsSinceMs: () => (mark === undefined ? undefined : sinceMs),
    listed: () => [{ ...listed, ...given.service }],
  };
  return stalledMarks(watermarks, { name, bounds: { low: 5, high }, nowMs });
}

describe('a watermark that stands still', () => {
  test('is told with service, partition, session and since when, and what to do', () => {
    const [stalled, ...more] = found({ mark: { heldBy: 'ses_stuck' } });
    expect(more).toEqual([]);
    expect(stalled).toMatchObject({ offset: 70, behind: 99_930, sinceMs: 0, session: 'ses_stuck' });
    expect(stalled?.message).toMatch(
      /planner in longrein\.sessions\.normal\/3 .* 1970-01-01T00:00/,
    );
    expect(stalled?.fix).toContain('longrein session show ses_stuck');
    expect(stalled?.fix).toContain('longrein services retire planner');
  });

  test('without a session that holds it, it is the service that is looked for', () => {
    expect(found({ mark: {} })[0]?.fix).toContain('longrein status');
    expect(found({})[0]).toMatchObject({ offset: 5, session: undefined });
  });

  test('is no alarm while it moves, or is near the end, or where it holds nothing', () => {
    expect(found({ mark: {}, sinceMs: nowMs - limits.watermarkStalledMs })).toEqual([]);
    expect(found({ mark: {}, high: 70 + limits.carryForwardRecords })).toEqual([]);
    expect(found({ mark: {}, service: { topics: ['longrein.keys'] } })).toEqual([]);
    const retired = { by: 'ann', reason: 'gone', atMs: 1 };
    expect(found({ mark: {}, service: { retired } })).toEqual([]);
  });
});
