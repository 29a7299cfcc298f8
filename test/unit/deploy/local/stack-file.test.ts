import { existsSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { readStack, StackBook, stackPath } from '../../../../deploy/local/stack-file.ts';

let dir = '';

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'longrein-stack-'));
});

function record(name: string, pid: number) {
  return { name, pid, startedAtMark: `mark-${pid}`, port: null, logFile: `${name}.log` };
}

describe('StackBook', () => {
  it('keeps every change in order and replaces a process of the same name', async () => {
    const book = await StackBook.open(dir);
    await Promise.all([
      book.put(record('broker', 1)),
      book.put(record('registry', 2)),
      book.put(record('broker', 3)),
      book.address({ brokers: ['127.0.0.1:9001'] }),
    ]);
    const stack = await readStack(dir);
    expect(stack?.brokers).toEqual(['127.0.0.1:9001']);
    expect(stack?.processes.map(({ name, pid }) => [name, pid])).toEqual([
      ['registry', 2],
      ['broker', 3],
    ]);
    expect(readdirSync(dir)).toEqual(['stack.json']);
  });

  it('goes on with what an earlier command wrote', async () => {
    await (await StackBook.open(dir)).put(record('broker', 1));
    const book = await StackBook.open(dir);
    expect(book.find('broker')?.pid).toBe(1);
    await book.drop('broker');
    expect((await readStack(dir))?.processes).toEqual([]);
    await book.close();
    expect(existsSync(stackPath(dir))).toBe(false);
  });
});

describe('readStack', () => {
  it('is undefined when nothing is up', async () => {
    expect(await readStack(dir)).toBeUndefined();
  });

  it.each(['{', '[]', 'null', '{"brokers":[],"processes":[{"pid":"7"}]}'])(
    'refuses the damaged file %j with a way out',
    async (text) => {
      writeFileSync(stackPath(dir), text);
      await expect(readStack(dir)).rejects.toMatchObject({
        code: 'STACK_FILE',
        fix: expect.stringContaining('longrein doctor'),
      });
    },
  );
});
