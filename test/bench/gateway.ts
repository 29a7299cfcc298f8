import type { Draft, InputEventType, SeenEvent } from '../../schemas/event.ts';
import { event, json } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { createMemoryBlobs } from '../../services/chassis/content/blobs.ts';
import { AnswerCache } from '../../services/model-gateway/answer-cache.ts';
import {
  type ModelGatewayState,
  modelGatewayLogic,
  requestOf,
} from '../../services/model-gateway/decide.ts';
import { createModelEffects } from '../../services/model-gateway/effects.ts';
import { breakerDefaults } from '../../services/model-gateway/gate/breaker.ts';
import { Gate } from '../../services/model-gateway/gate/gate.ts';
import { GatewayHosts } from '../../services/model-gateway/gate/hosts.ts';
import { gatherFacts } from '../../services/model-gateway/gather.ts';
import { createPriceBook } from '../../services/model-gateway/prices.ts';
import { createOpenAiCompatibleProvider } from '../../services/model-gateway/providers/openai-compatible.ts';
import { BenchSession } from '../support/bench-session.ts';
import { ProviderStub } from '../support/provider-stub.ts';
import { modelAgent, newest, openWork } from '../support/work-fixtures.ts';
import { percentile, print, spread } from './figures.ts';

/** The model gateway without a log: what it adds to a call, and what a long conversation takes to fold. */

const rates = { inputNanoUsdPerMTokens: 1_000_000, outputNanoUsdPerMTokens: 1_000_000 };
const wholeDollar = 1_000_000_000;

function gatewayAt(baseUrl: string) {
  const nowMs = (): number => Date.now();
  const prices = createPriceBook({ 'stub/*': rates });
  const provider = createOpenAiCompatibleProvider({ name: 'stub', baseUrl, prices, nowMs });
  const limits = { requestsPerMinute: 1_000_000, concurrentMax: 1_000 };
  const rules = { providers: { stub: limits }, tenants: {}, breaker: breakerDefaults };
  const gate = new Gate(rules, () => undefined);
  const countsTokens = (): boolean => true;
  const clock = { nowMs, after: () => () => undefined };
  const effects = createModelEffects({
    ...{ providers: new Map([['stub', provider]]), clock, gate, countsTokens },
    ...{ blobs: createMemoryBlobs(), cache: new AnswerCache() },
  });
  gate.heard(1, 0);
  const gather = {
    ...{ providers: ['stub'], gate, hosts: new GatewayHosts(), countsTokens },
    dayBudget: () => undefined,
    quote: provider.quote,
  };
  const facts = () => {
    const { meta, nowMs: atMs, lost, openCalls } = bench;
    const moment = { parts: gather, nowMs: atMs, lost, openCalls };
    return { facts: gatherFacts(state(), meta, moment) };
  };
  const bench: BenchSession = new BenchSession([{ logic: modelGatewayLogic, facts }]);
  const state = (): ModelGatewayState => bench.state('model-gateway');
  openWork(bench, { agents: [modelAgent()], budgetNanoUsd: wholeDollar });
  return { bench, state, effects };
}

type Gateway = ReturnType<typeof gatewayAt>;

function ask({ bench }: Gateway, step: number, said: string): void {
  bench.nowMs = Date.now();
  const call = `call_${step}`;
  const who = { call, agent: 'w.1', task: 'w', attempt: 1, step, agentName: 'writer' };
  const data = { ...who, model: 'stub/m', outputTokensMax: 64, timeoutMs: 60_000, tools: [] };
  const messages = json([{ role: 'user', text: said }] as JsonValue);
  bench.append([event('model.requested', data, { messages })], 'worker-pool:general');
}

/** From the request to its outcome as the next reader has it. */
async function answered({ bench, state, effects }: Gateway): Promise<void> {
  bench.settle();
  const claim = newest(bench.events, 'model.claimed') as SeenEvent;
  const job = effects.jobOf(claim, state(), bench.meta);
  const control = { signal: new AbortController().signal, traceparent: '' };
  const outcome = (await job?.run(control)) as Draft<InputEventType>;
  if (outcome.type !== 'model.completed') throw new Error(`the call ended as ${outcome.type}`);
  bench.input(outcome);
  bench.settle();
}

type Taken = { readonly wallMs: number[]; cpuMs: number };

const nothingTaken = (): Taken => ({ wallMs: [], cpuMs: 0 });

/** By the clock, and of the processor: on a machine with other work only that tells anything. */
async function timed(work: () => Promise<unknown>, into?: Taken): Promise<void> {
  const startMs = performance.now();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  if (into === undefined) return;
  into.wallMs.push(performance.now() - startMs);
  into.cpuMs += (user + system) / 1_000;
}

/** The same request by hand: what the wire and the server take. */
async function byHand(url: string): Promise<void> {
  const messages = [{ role: 'user', content: 'Is it so?' }];
  const body = JSON.stringify({ model: 'm', messages, max_tokens: 64 });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/chat/completions`, { method: 'POST', headers, body });
  await response.text();
}

/** What the gateway adds to a call beside the appends: its facts, decision, claim, provider's protocol and outcome. */
async function overhead(url: string, calls = 300): Promise<void> {
  const [whole, wire] = [nothingTaken(), nothingTaken()];
  for (let step = 1; step <= calls + 20; step += 1) {
    // A conversation of its own: what a long one takes is measured apart.
    const gateway = gatewayAt(url);
    const isWarm = step > 20;
    await timed(() => byHand(url), isWarm ? wire : undefined);
    ask(gateway, 1, 'Is it so?');
    await timed(() => answered(gateway), isWarm ? whole : undefined);
  }
  const wireP50Ms = percentile(wire.wallMs, 0.5);
  const overheadP50Ms = percentile(whole.wallMs, 0.5) - wireP50Ms;
  const overheadCpuMs = (whole.cpuMs - wire.cpuMs) / calls;
  print({
    bench: 'gateway-call',
    ...spread(whole.wallMs),
    wireP50Ms,
    overheadP50Ms,
    overheadCpuMs,
  });
}

/** A request of a conversation of so many messages: folded, quoted, and made whole. */
async function longContext(url: string, messages = 500, rounds = 60): Promise<void> {
  const gateway = gatewayAt(url);
  const said = 'What was found in this step, at some length: '.repeat(10);
  for (let step = 1; step <= messages / 2; step += 1) {
    ask(gateway, step, said);
    await answered(gateway);
  }
  const taken: number[] = [];
  const claims = nothingTaken();
  for (let round = 1; round <= rounds; round += 1) {
    const step = messages / 2 + round;
    const call = `call_${step}`;
    const startMs = performance.now();
    ask(gateway, step, said);
    const asked = requestOf(gateway.state(), call);
    taken.push(performance.now() - startMs);
    if ((asked?.messages.length ?? 0) <= messages) throw new Error('the context is not whole');
    await timed(async () => gateway.bench.settle(), claims);
    await answered(gateway);
  }
  print({
    bench: 'gateway-context',
    messages,
    ...spread(taken),
    claimP50Ms: percentile(claims.wallMs, 0.5),
    claimCpuMs: claims.cpuMs / rounds,
  });
}

/** Both, against a server of this process that answers at once. */
export async function gatewayAlone(): Promise<void> {
  const stub = new ProviderStub({ m: { plain: true } });
  const url = await stub.start();
  await overhead(url);
  await longContext(url);
  await stub.stop();
}
