/**
 * A server of OpenAI's protocol for whole hosts: answers every request in the way of the model's name, streamed where that
 * is asked for, and remembers when each began and ended. A client that goes away ends its request.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export type StubCall = {
  readonly model: string;
  readonly startMs: number;
  endMs: number;
  /** The conversation as it came. */
  readonly messages: unknown;
  /** With what key it was asked. */
  readonly authorization: string | undefined;
};

export type ModelWay = Readonly<{
  status?: number;
  retryAfterSeconds?: number;
  words?: readonly string[];
  takesMs?: number;
  outputTokens?: number;
  /** How many tokens it says that the request had; ten if not given. */
  inputTokens?: number;
  /** Answers whole, whatever was asked for. */
  plain?: boolean;
  /** A call of this tool is all that it ever answers. */
  tool?: string;
  arguments?: object;
  /** Any other key is refused. */
  key?: string;
  /**
   * After the first word the connection breaks, comes what is no JSON, or comes nothing any more; `slow`: not even that word
   * comes, `garbled`: half of a whole answer.
   */
  fault?: 'cut' | 'malformed' | 'silent' | 'slow' | 'garbled';
}>;

/** A message of the conversation, as it comes over the wire. */
export type WireMessage = Readonly<{ role: string; content?: unknown }>;

/** One way for all requests for a model, or what it makes of what was said so far. */
export type ModelWays = Readonly<
  Record<string, ModelWay | ((said: readonly WireMessage[]) => ModelWay)>
>;

const usageOf = ({ outputTokens = 100, inputTokens = 10 }: ModelWay) => ({
  prompt_tokens: inputTokens,
  completion_tokens: outputTokens,
});

const chunk = (model: string, delta: object, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model, choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`;

/** A vector is the length of its text, and one. */
function embed(response: ServerResponse, texts: readonly string[]): void {
  const data = texts.map((text, index) => ({ index, embedding: [text.length, 1] }));
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ object: 'list', data, usage: { prompt_tokens: texts.length } }));
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const piece of request) chunks.push(piece as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as Record<string, unknown>;
}

export class ProviderStub {
  readonly calls: StubCall[] = [];
  private readonly ways: ModelWays;
  private readonly server = createServer((request, response) => void this.take(request, response));

  constructor(ways: ModelWays) {
    this.ways = ways;
  }

  /** Where it listens; ends before /chat/completions. */
  async start(): Promise<string> {
    await new Promise<void>((done) => this.server.listen(0, '127.0.0.1', done));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  of(model: string): readonly StubCall[] {
    return this.calls.filter((one) => one.model === model);
  }

  /** The most requests for a model that were under way in one moment. */
  mostAtOnce(model: string): number {
    const all = this.of(model);
    const under = all.map(
      ({ startMs }) => all.filter((one) => one.startMs <= startMs && one.endMs > startMs).length,
    );
    return Math.max(0, ...under);
  }

  /** The most requests for a model that began within so many milliseconds. */
  mostWithin(model: string, withinMs: number): number {
    const all = this.of(model);
    const within = all.map(
      ({ startMs }) =>
        all.filter((one) => one.startMs >= startMs && one.startMs < startMs + withinMs).length,
    );
    return Math.max(0, ...within);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise<void>((done) => this.server.close(() => done()));
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    const model = String(body['model']);
    const { messages } = body;
    const endMs = Number.POSITIVE_INFINITY;
    const { authorization } = request.headers;
    const call: StubCall = { model, startMs: performance.now(), endMs, messages, authorization };
    this.calls.push(call);
    response.once('close', () => {
      call.endMs = performance.now();
    });
    if (request.url?.endsWith('/embeddings')) return embed(response, body['input'] as string[]);
    const known = this.ways[model] ?? { status: 404 };
    const way = typeof known === 'function' ? known(messages as WireMessage[]) : known;
    const { key, status = 200, takesMs = 0 } = way;
    const isKnown = key === undefined || authorization === `Bearer ${key}`;
    if (status !== 200) await sleep(takesMs);
    if (status !== 200 || !isKnown) return refuse(response, isKnown ? status : 401, way);
    if (way.fault === 'slow') return;
    if (way.fault === 'garbled') return answerWhole(response, '{"id": "c", "choices": [{"ind');
    if (way.plain === true) return answerWhole(response, wholeAnswer(model, way));
    await stream(response, model, way);
  }
}

function refuse(response: ServerResponse, status: number, { retryAfterSeconds }: ModelWay): void {
  const wait = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  response.writeHead(status, { 'content-type': 'application/json', ...wait });
  response.end(JSON.stringify({ error: { message: `the stub says ${status}` } }));
}

function wholeAnswer(model: string, way: ModelWay): string {
  const message = { role: 'assistant', content: (way.words ?? ['Yes.']).join('') };
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  const usage = usageOf(way);
  return JSON.stringify({ id: 'c', object: 'chat.completion', model, choices, usage });
}

function answerWhole(response: ServerResponse, body: string): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(body);
}

async function stream(response: ServerResponse, model: string, way: ModelWay): Promise<void> {
  const { words = ['Yes.'], takesMs = 0, fault, tool } = way;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const word of tool === undefined ? words : []) {
    await sleep(takesMs / words.length);
    response.write(chunk(model, { content: word }));
    if (fault === 'silent') return;
    if (fault === 'cut') return void setTimeout(() => response.destroy(), 50);
    if (fault === 'malformed') return void response.end('data: {"choices": [{"ind\n\n');
  }
  const { arguments: given = { said: 'again' } } = way;
  const called = { name: tool, arguments: JSON.stringify(given) };
  const toolCalls = [{ index: 0, id: 'call-1', type: 'function', function: called }];
  if (tool !== undefined) response.write(chunk(model, { tool_calls: toolCalls }));
  const reason = tool === undefined ? 'stop' : 'tool_calls';
  const choices = [{ index: 0, delta: {}, finish_reason: reason }];
  response.write(chunk(model, {}, { choices }));
  response.write(chunk(model, {}, { choices: [], usage: usageOf(way) }));
  response.end('data: [DONE]\n\n');
}
