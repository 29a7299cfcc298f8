import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { paceOf } from '../torture/disturbance.ts';
import { tableOf } from '../torture/figures.ts';
import { torture } from '../torture/torture.ts';

const minutes = 3;
const seed = 20_261;

it('three brokers and all services under load, each killed in turn, lose nothing and double nothing', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'longrein-torture-'));
  const lines: string[] = [];
  const figures = await torture({
    dir,
    seed,
    minutes,
    goalsPerSecond: 0.8,
    paceMs: paceOf(minutes),
    patienceMs: 180_000,
    say: (line) => lines.push(line),
  });
  expect(figures.violations, [...lines, tableOf(figures), `logs: ${dir}`].join('\n')).toEqual([]);
  rmSync(dir, { recursive: true });
}, 600_000);
