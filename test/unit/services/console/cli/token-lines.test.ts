import { describe, expect, it } from 'vitest';
import type { SeenEvent } from '../../../../../schemas/event.ts';
import type { ModelTokens } from '../../../../../schemas/tokens.ts';
import type { LiveLine } from '../../../../../services/console/cli/live-view.ts';
import { TokenLines } from '../../../../../services/console/cli/token-lines.ts';

function shown() {
  const lines: LiveLine[] = [];
  const tokens = new TokenLines((line) => lines.push(line), { width: 20, startedMs: 1_000 });
  const say = (at: number, text: string, more: Partial<ModelTokens> = {}): void => {
    const who = { session: 's', call: 'c', agent: 'a', task: 't', model: 'p/m', claim: 1, try: 1 };
    tokens.take({ ...who, at, text, ...more });
  };
  const texts = (): string[] => lines.map(({ text }) => text);
  return { tokens, say, texts };
}

function ending(type: string, text: string, atMs = 2_000): SeenEvent {
  const message = { digest: 'd', mediaType: 'application/json', bytes: 1, body: { text } };
  const data = { call: 'c', provider: 'p', model: 'm' };
  return { type, data, content: { message }, atMs } as unknown as SeenEvent;
}

describe('what models say', () => {
  it('comes as whole lines, broken at a blank, and the rest at the end', () => {
    const { tokens, say, texts } = shown();
    say(0, 'The first\nsecond line');
    expect(texts()).toEqual(['The first\n']);
    say(21, ' is a long one');
    expect(texts()).toEqual(['The first\n', 'second line is a ']);
    tokens.end(ending('model.completed', 'The first\nsecond line is a long one, it is.'));
    expect(texts().slice(2)).toEqual(['long one, it is.']);
  });

  it('that comes after its end is not shown again', () => {
    const { tokens, say, texts } = shown();
    tokens.end(ending('model.completed', 'Short.'));
    say(0, 'Short.');
    expect(texts()).toEqual(['Short.']);
  });

  it('says where a piece was lost, and begins anew with another try', () => {
    const { tokens, say, texts } = shown();
    say(0, 'One');
    say(9, 'two');
    tokens.end(ending('model.attempt-failed', ''));
    say(0, 'Again', { try: 2 });
    tokens.end(ending('model.failed', ''));
    expect(texts()).toEqual(['One … two', 'Again']);
  });

  it('before anybody followed is left to the record', () => {
    const { tokens, texts } = shown();
    tokens.end(ending('model.completed', 'Long ago.', 500));
    expect(texts()).toEqual([]);
  });
});
