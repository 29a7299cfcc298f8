import { beforeAll, describe, expect, test } from 'vitest';
import { costOf } from '../../../../replay-tools/cost/cost.ts';
import { History } from '../../../../replay-tools/read/history.ts';
import { judgeSession } from '../../../../replay-tools/read/session.ts';
import { receiptsOf } from '../../../../replay-tools/receipts/receipts.ts';
import { receiptLines } from '../../../../replay-tools/receipts/receipts-text.ts';
import { type RecordedWorld, recordWorld, type Scenario } from '../../../support/recorded-world.ts';
import { sourceFromWorld } from '../../../support/world-session.ts';

/** Receipts of sessions that went in different ways, each computed from the log alone. */

let recorded: RecordedWorld;

beforeAll(async () => {
  recorded = await recordWorld();
});

const historyOf = async (name: Scenario): Promise<History> =>
  new History(
    await judgeSession(await sourceFromWorld(recorded.world, recorded.goals[name].session)),
  );

describe('receipts', () => {
  test('a tool that failed three times is three effects, each allowed, claimed and failed', async () => {
    const { receipts, totals } = receiptsOf(await historyOf('failing'));
    expect(totals).toMatchObject({ failed: 3, completed: 0, denied: 0, open: 0 });
    for (const { kind, name, version, decision, claims, outcomes, input, output } of receipts) {
      expect([kind, name, version]).toEqual(['tool', 'test.flaky', '1.0.0']);
      expect(decision).toMatchObject({
        answer: 'permitted',
        by: 'tool-guard',
        effect: 'read-only',
      });
      expect(decision?.definition).toMatch(/^[0-9a-f]{64}$/);
      expect(claims.map(({ by, attempt }) => [by, attempt])).toEqual([['tool-runner', 1]]);
      expect(claims[0]?.incarnation).not.toBe('');
      expect(outcomes).toMatchObject([{ ended: 'failed', code: 'TOOL_BROKE' }]);
      expect(Object.keys(input)).toEqual(['arguments']);
      expect(Object.keys(output)).toEqual(['message']);
    }
  });

  test('what the guard refused was made by nobody, and says by which check', async () => {
    const { receipts } = receiptsOf(await historyOf('denied'));
    const denied = receipts.find(({ standing }) => standing === 'denied');
    expect(denied).toMatchObject({
      ...{ standing: 'denied', claims: [], outcomes: [], costNanoUsd: 0 },
      decision: { answer: 'denied', rule: 'check arguments', by: 'tool-guard' },
    });
  });

  test('costs are those of the session, to the nano-dollar, and failed tries of a model count', async () => {
    const history = await historyOf('asked');
    const report = receiptsOf(history);
    expect(report.costNanoUsd).toBe(costOf(history, 'agent').total.costNanoUsd);
    const models = report.receipts.filter(({ kind }) => kind === 'model');
    expect(models[0]?.outcomes.length).toBeGreaterThan(0);
    expect(models.at(-1)).toMatchObject({
      standing: 'completed',
      decision: { rule: 'no budget set' },
    });
  });

  test('a call that was cancelled is none that went well', async () => {
    const { receipts } = receiptsOf(await historyOf('cancelled'));
    expect(receipts.map(({ standing }) => standing)).not.toContain('completed');
  });

  test('nothing is signed, and each digest covers all before it', async () => {
    const history = await historyOf('failing');
    const report = receiptsOf(history);
    expect(report.signed).toBe(false);
    expect(report.receipts.map(({ signature }) => signature)).toEqual([null, null, null]);
    expect(report.chain).toBe(report.receipts.at(-1)?.digest);
    expect(receiptsOf(history)).toEqual(report);
    // One that lacks its first effect has other digests for all that follow.
    const { records } = history.judged;
    const first = records.findIndex(({ record }) => record.header.types.includes('tool.requested'));
    const less = new History({ ...history.judged, records: records.toSpliced(first, 1) });
    const kept = new Set(report.receipts.map(({ digest }) => digest));
    expect(receiptsOf(less).receipts.some(({ digest }) => kept.has(digest))).toBe(false);
  });

  test('as text: a table, or lines that fit a narrow terminal; not signed is said', async () => {
    const report = receiptsOf(await historyOf('asked'));
    const wide = receiptLines(report);
    expect(wide[1]).toMatch(/^NO +WHAT +FOR +ASKED +GUARD +CLAIMED +OUTCOME +COST +IN +OUT/);
    expect(wide.at(-1)).toMatch(/^NOT SIGNED/);
    const narrow = receiptLines(report, { columns: 80 });
    expect(Math.max(...narrow.map((line) => [...line].length))).toBeLessThanOrEqual(80);
    expect(narrow.join('\n')).toContain('GUARD    denied');
    const { judged } = await historyOf('simple');
    const opened = new History({ ...judged, records: judged.records.slice(0, 1) });
    expect(receiptLines(receiptsOf(opened))).toContain(
      'It asked nobody for anything: no tool, no model.',
    );
  });
});
