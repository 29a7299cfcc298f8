import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { History } from '../../../../replay-tools/read/history.ts';
import { ViewMask } from '../../../../replay-tools/read/masked-view.ts';
import { judgeSession } from '../../../../replay-tools/read/session.ts';
import { usualMasks } from '../../../../services/chassis/telemetry/masks.ts';
import { runCli } from '../../../../services/console/cli/program.ts';
import { fakeTerminal } from '../../../support/fake-terminal.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { exportFromWorld, recordsOf, sourceFromWorld } from '../../../support/world-session.ts';

/** What people look at shows no personal data, unless they ask; what is decided and checked is as ever. */

const directory = mkdtempSync(join(tmpdir(), 'longrein-masks-'));
const planted = ['elfriede@planted.example', '+43 660 1234567', 'AT61 1904 3002 3457 3201'];
const all = planted.join(' and ');

let world: MemoryWorld;
let session: string;
let asked: string;

beforeAll(async () => {
  world = await MemoryWorld.start({
    seed: 11,
    tools: { 'test.flaky': () => ({ failure: { message: `No ${all} today.` } }) },
    model: ({ messages }) =>
      messages.some(({ role }) => role === 'assistant')
        ? { failure: { code: 'NO_ANSWER', retryable: false } }
        : { text: '', calls: [{ name: 'test.echo', arguments: { said: all } }] },
  });
  const labels = { contact: planted[0] ?? '' };
  ({ session } = world.publishGoal({ goal: all, plan: 'flaky', inputs: { name: all }, labels }));
  ({ session: asked } = world.publishGoal({ goal: all, plan: 'ask', inputs: { question: all } }));
  expect(await world.runUntilDone()).toBe(true);
  await world.clock.run(2_000);
  for (const [name, one] of [
    ['failed.jsonl', session],
    ['asked.jsonl', asked],
  ] as const)
    writeFileSync(join(directory, name), await exportFromWorld(world, one));
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function run(...words: readonly string[]) {
  const terminal = fakeTerminal();
  const environment = { LONGREIN_STATE_DIR: join(directory, 'state') };
  const code = await runCli(['replay', ...words], { environment, workingDir: directory, terminal });
  return { code, stdout: terminal.stdout, stderr: terminal.stderr };
}

/** Which of the planted are to be read there, also as JSON writes them. */
const found = (text: string): readonly string[] => planted.filter((one) => text.includes(one));

const views: readonly (readonly string[])[] = [
  ['show', 'failed.jsonl'],
  ['show', 'failed.jsonl', '--full', '--all'],
  ['why', 'failed.jsonl', 'last'],
  ['first-failure', 'failed.jsonl'],
  ['context', 'asked.jsonl'],
  ['diff', 'failed.jsonl', 'asked.jsonl', '--all'],
];

describe('views', () => {
  test.each(views)('%s %s %s show no personal data, and say so', async (...words) => {
    const { code, stdout, stderr } = await run(...words);
    expect({ code, found: found(stdout) }).toEqual({ code: 0, found: [] });
    expect(stdout).toContain('[masked:email]');
    expect(stderr).toMatch(
      /^(\d+ contents? with personal data masked; --unmasked shows all\.\n)+$/,
    );
    expect(found((await run(...words, '--unmasked')).stdout)).not.toEqual([]);
  });

  test.each(views)('%s %s %s as JSON neither, with nothing beside it', async (...words) => {
    const { code, stdout, stderr } = await run(...words, '--json');
    expect({ code, found: found(stdout), stderr }).toEqual({ code: 0, found: [], stderr: '' });
    expect(() => JSON.parse(stdout)).not.toThrow();
  });

  test('a fork says neither what was changed nor what it would ask, and decides as ever', async () => {
    const words = ['fork', 'failed.jsonl', '--at', 'first', '--set', `input.name=${planted[0]}`];
    const masked = await run(...words, '--json');
    const open = await run(...words, '--json', '--unmasked');
    expect([found(masked.stdout), found(open.stdout).length > 0]).toEqual([[], true]);
    const idOf = (text: string) => (JSON.parse(text) as { session: string }).session;
    expect(idOf(masked.stdout)).toBe(idOf(open.stdout));
  });

  test('what is checked is the session itself', async () => {
    const { code, stdout } = await run('verify', 'failed.jsonl');
    expect(code).toBe(0);
    expect(stdout).toContain('IDENTICAL');
    const source = await sourceFromWorld(world, session);
    const seen = new ViewMask(usualMasks).source(source);
    const ids = async (one: typeof source) => (await recordsOf(one)).map(({ header }) => header.id);
    expect(await ids(seen)).toEqual(await ids(source));
    const history = new History(await judgeSession(seen));
    expect(history.entries.length).toBe(new History(await judgeSession(source)).entries.length);
  });

  test('members that a file names are masked whole, and a file that is wrong is refused', async () => {
    const mask = new ViewMask({ patterns: [], fields: ['birthday'] });
    const value = { Birthday: '1. 4.', list: [{ birthday: [1, 4] }], other: 'stays' };
    expect(mask.value(value)).toEqual({
      ...{ Birthday: '[masked:Birthday]', other: 'stays' },
      list: [{ birthday: '[masked:birthday]' }],
    });
    const same = { other: ['stays', 1, null, true] };
    expect(mask.value(same)).toBe(same);
  });
});
