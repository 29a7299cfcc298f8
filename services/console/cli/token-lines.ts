/** What models say while they say it, as lines. The answer in the log fills in what the side channel lost. */
import type { SeenEvent } from '../../../schemas/event.ts';
import type { ModelTokens } from '../../client/tokens.ts';
import type { LiveLine } from './live-view.ts';

type Said = { readonly attempt: string; at: number; text: string };

const widthMin = 20;
const ends: ReadonlySet<string> = new Set(['model.failed', 'model.attempt-failed', 'model.denied']);

const attemptOf = ({ claim, try: number }: ModelTokens): string => `${claim}/${number}`;

/** The text of an answer; undefined where its body was not read. */
function textOf(event: SeenEvent<'model.completed'>): string | undefined {
  const message: unknown = event.content.message.body ?? null;
  const said: unknown = Object(message).text;
  return typeof said === 'string' ? said : undefined;
}

/** Lines of one follower. Answers that were given before it came are not shown again. */
export class TokenLines {
  private readonly onLine: (line: LiveLine) => void;
  private readonly width: number;
  private readonly startedMs: number;
  private readonly open = new Map<string, Said>();
  private readonly over = new Set<string>();

  constructor(onLine: (line: LiveLine) => void, at: { width: number; startedMs: number }) {
    this.onLine = onLine;
    this.width = Math.max(widthMin, at.width);
    this.startedMs = at.startedMs;
  }

  take(tokens: ModelTokens): void {
    const { call, model, at, text } = tokens;
    if (this.over.has(call)) return;
    const known = this.open.get(call);
    const attempt = attemptOf(tokens);
    const said = known?.attempt === attempt ? known : { attempt, at, text: '' };
    this.open.set(call, said);
    if (at > said.at) said.text += ' … ';
    said.text += text;
    said.at = at + text.length;
    this.write(model, said);
  }

  /** Ends what is shown of a call before the line that says how it ended. */
  end(event: SeenEvent): void {
    if (event.type === 'model.completed') this.complete(event);
    else if (ends.has(event.type)) this.close(String(Object(event.data).call), '');
  }

  private complete(event: SeenEvent<'model.completed'>): void {
    const { call, provider, model } = event.data;
    const known = this.open.get(call);
    if (known === undefined && event.atMs < this.startedMs) return;
    const said = known ?? { attempt: '', at: 0, text: '' };
    said.text += (textOf(event) ?? '').slice(said.at);
    this.open.set(call, said);
    this.close(call, `${provider}/${model}`);
    this.over.add(call);
  }

  private close(call: string, model: string): void {
    const said = this.open.get(call);
    this.open.delete(call);
    if (said === undefined) return;
    this.write(model, said);
    if (said.text.trim() !== '') this.tell(model, said.text);
  }

  /** Whole lines of what waits; the rest stays. */
  private write(model: string, said: Said): void {
    for (;;) {
      const line = firstLine(said.text, this.width);
      if (line === undefined) return;
      said.text = said.text.slice(line.length);
      if (line.trim() !== '') this.tell(model, line);
    }
  }

  private tell(model: string, text: string): void {
    this.onLine({ atMs: Date.now(), kind: 'model', name: model, text, mood: 'plain' });
  }
}

/** Up to a line break, or to the last blank that fits. */
function firstLine(text: string, width: number): string | undefined {
  const end = text.indexOf('\n');
  if (end >= 0 && end <= width) return text.slice(0, end + 1);
  if (text.length <= width) return undefined;
  const blank = text.lastIndexOf(' ', width);
  return text.slice(0, blank > 0 ? blank + 1 : width);
}
