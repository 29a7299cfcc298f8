import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../../services/chassis/config/package-root.ts';
import { paceOf } from '../torture/disturbance.ts';
import { tableOf } from '../torture/figures.ts';
import { torture } from '../torture/torture.ts';

const minutes = 3;
const seed = 20_261;
/** Not the temporary directory of the test run: that goes with it, and a failure needs its logs. */
const runs = join(packageRoot, '.longrein', 'torture');

it('three brokers and all services under load, each killed in turn, lose nothing and double nothing', async () => {
  mkdirSync(runs, { recursive: true });
  const dir = mkdtempSync(join(runs, 'run-'));
  const lines: string[] = [];
  const figures = await torture({
    dir,
    seed,
    minutes,
    goalsPerSecond: 0.8,
    paceMs: paceOf(minutes),
    spoilMs: 5_000,
    patienceMs: 180_000,
    say: (line) => lines.push(line),
  });
  expect(figures.violations, [...lines, tableOf(figures), `logs: ${dir}`].join('\n')).toEqual([]);
  rmSync(dir, { recursive: true });
}, 600_000);
