import type { JsonValue } from '../../schemas/json.ts';
import { count, fullText } from '../show/figures.ts';
import { type Palette, plainPalette } from '../show/palette.ts';
import type { RowOptions } from '../show/rows.ts';
import { wrapTo } from '../show/wrap.ts';
import type { ContextWindow } from './context.ts';

/** A context window for people and, the same without places in this program, for documents. */

type Message = ContextWindow['messages'][number];

/** A window as far as people see it: one of the log, or one that was kept. */
type ShownWindow = Omit<ContextWindow, 'request' | 'outcome'> &
  Readonly<{
    request: Readonly<{ place: string }>;
    outcome?: Readonly<{ place: string; event: Readonly<{ type: string }> }>;
  }>;

function saidBy(message: Message): readonly string[] {
  switch (message.role) {
    case 'tool': {
      const head = `${message.isError ? 'error of' : 'result of'} ${message.toolName} (${message.toolCallId})`;
      return [head, ...fullText(message.result)];
    }
    case 'assistant': {
      const calls = message.toolCalls.map(
        ({ id, name, arguments: given }) => `calls ${name}(${JSON.stringify(given)}) as ${id}`,
      );
      return [...(message.text === '' ? [] : fullText(message.text)), ...calls];
    }
    default:
      return fullText(message.text);
  }
}

/** A window for people. */
export type WindowOptions = RowOptions &
  Readonly<{
    /** Long messages are not folded, as they are on a terminal. */
    full?: boolean;
  }>;

/** So many lines of a message are shown on a terminal, and of a longer one so many. */
const messageLinesMax = 24;
const foldedLines = 16;

/** What a message is about stands at its beginning; whoever needs the rest asks for it. */
function folded(lines: readonly string[], palette: Palette): readonly string[] {
  if (lines.length <= messageLinesMax) return lines;
  const rest = lines.length - foldedLines;
  return [
    ...lines.slice(0, foldedLines),
    palette.quiet(`    … ${rest} lines more, see them with --full`),
  ];
}

function messageLines(message: Message, tokens: number, options: WindowOptions): readonly string[] {
  const { palette = plainPalette, columns, full = false } = options;
  const head = palette.heading(`${message.role} (${tokens} tokens by estimate)`);
  const lines = saidBy(message).map((line) => `    ${line}`);
  if (columns === undefined) return ['', head, ...lines];
  const fit = lines.flatMap((line) => wrapTo(line, columns, 4));
  return ['', head, ...(full ? fit : folded(fit, palette))];
}

function tokensText({ tokens }: ShownWindow): string {
  const { input, output, estimated } = tokens;
  if (input === undefined) return `${estimated} in by estimate; nobody answered`;
  return `${input} in and ${output ?? 0} out, counted by the provider (${estimated} in by estimate)`;
}

export function contextLines(window: ShownWindow, options: WindowOptions = {}): readonly string[] {
  const { palette = plainPalette } = options;
  const { agent, attempt, step, request, outcome, model, tools, tokens } = window;
  const end = outcome === undefined ? 'not answered' : `${outcome.event.type} at ${outcome.place}`;
  const offered = tools.map(({ name }) => name).join(', ');
  return [
    palette.heading(`Context of agent ${agent} (attempt ${attempt}), step ${step}`),
    `Request  ${request.place}, ${end}`,
    `Model    ${model}, at most ${window.outputTokensMax} tokens out, ${window.timeoutMs} ms`,
    `Tokens   ${tokensText(window)}`,
    `Tools    ${offered === '' ? 'none' : `${offered} (${tokens.tools} tokens by estimate)`}`,
    `Window   ${count(window.messages.length, 'message')}`,
    ...window.messages.flatMap((one, index) =>
      messageLines(one, tokens.messages[index] ?? 0, options),
    ),
  ];
}

/** As one JSON document. */
export function contextDocument(window: ContextWindow) {
  const { request, outcome, ...rest } = window;
  const placed = ({ place, address, event }: ContextWindow['request']) => {
    const { type, data } = event;
    return { place, address, type, data: data as unknown as JsonValue };
  };
  return {
    ...rest,
    request: placed(request),
    ...(outcome === undefined ? {} : { outcome: placed(outcome) }),
  };
}

type Kept = Omit<ContextWindow, 'request' | 'outcome'> &
  Readonly<{
    request: Readonly<{ place: string }>;
    outcome?: Readonly<{ place: string; type: string }>;
  }>;

/** The same lines for a document of `contextDocument` that was kept. */
export function keptLines(document: JsonValue, options: WindowOptions = {}): readonly string[] {
  const { outcome, ...rest } = document as unknown as Kept;
  const ended =
    outcome === undefined
      ? {}
      : { outcome: { place: outcome.place, event: { type: outcome.type } } };
  return contextLines({ ...rest, ...ended }, options);
}
