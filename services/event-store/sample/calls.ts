import { type Draft, event, json, text } from '../../../schemas/event.ts';
import { callId } from '../../chassis/protocol/ids.ts';
import { releases, type SampleAgent, type SampleModel, sampleTools } from './company.ts';
import type { Dice } from './dice.ts';
import type { Owner, Script } from './script.ts';

/** An agent at work: its calls, one after another. Times move with it. */
export type Work = {
  readonly script: Script;
  readonly owner: Owner;
  readonly dice: Dice;
  readonly agent: SampleAgent;
  readonly agentId: string;
  readonly task: string;
  readonly attempt: number;
  atMs: number;
  step: number;
  calls: number;
};

const prices = 'sample-prices@1';

const asked = (work: Work) => ({
  ...{ agent: work.agentId, task: work.task, attempt: work.attempt },
  ...{ step: work.step, agentName: work.agent.name },
});

function nextCall(work: Work): string {
  work.calls += 1;
  return callId(work.owner.session, work.agentId, work.calls);
}

type Tokens = Readonly<{ input: number; output: number; cached: number }>;

function tokensOf({ dice, step, agent }: Work): Tokens {
  const input = 700 + step * dice.between(400, 1_400) + (dice.chance(0.02) ? 60_000 : 0);
  const isCached = step > 1 && agent.model.provider === 'openai';
  return { input, output: dice.between(60, 700), cached: isCached ? Math.floor(input * 0.6) : 0 };
}

/** Cached input costs a tenth. */
const costOf = ({ input, output }: SampleModel, tokens: Tokens): number =>
  (tokens.input - tokens.cached) * input +
  Math.floor((tokens.cached * input) / 10) +
  tokens.output * output;

/** One model call; at times its first try fails and was paid for in part. */
export function modelCall(work: Work): void {
  const { dice, agent } = work;
  const call = askModel(work);
  const tries = dice.chance(agent.model.failing) ? 2 : 1;
  for (let count = 1; count <= tries; count += 1) modelTry(work, call, { count, tries });
}

function askModel(work: Work): string {
  const { script, owner, agent } = work;
  const call = nextCall(work);
  const model = `${agent.model.provider}/${agent.model.model}`;
  const more = { model, outputTokensMax: 2_000, timeoutMs: 60_000, tools: [] };
  const messages = json([{ role: 'user', text: 'What is next?' }]);
  const requested = event('model.requested', { call, ...asked(work), ...more }, { messages });
  script.turn(owner, work.atMs, ['worker-pool', requested]);
  return call;
}

function modelTry(
  work: Work,
  call: string,
  { count, tries }: { count: number; tries: number },
): void {
  const { script, owner, dice, agent } = work;
  const attempt = 1;
  const fails = count < tries;
  const { provider, model } = agent.model;
  const deadlineAtMs = work.atMs + 60_000;
  const claimed = event('model.claimed', { call, attempt, try: count, model, deadlineAtMs });
  work.atMs += dice.between(3, 25);
  const claim = `${script.turn(owner, work.atMs, ['model-gateway', claimed])}#0`;
  const tokens = fails ? { input: 900, output: 0, cached: 0 } : tokensOf(work);
  const durationMs = 200 + dice.between(1, 90) + Math.round(tokens.output * agent.model.pace);
  work.atMs += durationMs;
  const spent = {
    ...{ inputTokens: tokens.input, outputTokens: tokens.output, cacheReadTokens: tokens.cached },
    ...{
      cacheWriteTokens: 0,
      reasoningTokens: Math.floor(tokens.output / 4),
      priceVersion: prices,
    },
    ...{ costNanoUsd: costOf(agent.model, tokens), costKnown: true, durationMs },
  };
  const head = { call, claim, attempt, provider, model };
  const outcome = fails
    ? event(
        'model.attempt-failed',
        { ...head, try: count, code: 'OVERLOADED', class: 'overloaded', retryable: true, ...spent },
        { message: text('The provider is overloaded.') },
      )
    : event(
        'model.completed',
        { ...head, finishReason: 'tool-calls', toolCalls: 1, ...spent },
        { message: json({ role: 'model', text: 'Next.' }) },
      );
  script.input(owner, work.atMs, outcome);
}

const versionOf = (tool: string, { release }: Owner): string =>
  tool === 'web.fetch' && release === releases.after ? '1.1.0' : '1.0.0';

/** One tool call through the guard. The same arguments again and again are a loop. */
export function toolCall(work: Work, tool: string, argument: string): void {
  const { script, owner, dice } = work;
  const kind = sampleTools[tool];
  if (kind === undefined) throw new Error(`The sample has no tool ${tool}`);
  const call = nextCall(work);
  const input = json({ path: argument });
  const requested = event('tool.requested', { call, ...asked(work), tool }, { arguments: input });
  script.turn(owner, work.atMs, ['worker-pool', requested]);
  work.atMs += dice.between(1, 9);
  if (tool === 'files.write' && dice.chance(0.07)) {
    const denial = { call, tool, code: 'ROLE_NOT_ALLOWED', check: 'role' } as const;
    const denied = event('tool.denied', denial, { message: text('Not for this role.') });
    script.turn(owner, work.atMs, ['tool-guard', denied]);
    return;
  }
  const permitted = event('tool.permitted', {
    ...{ call, tool, toolVersion: versionOf(tool, owner), toolDigest: `digest-${tool}` },
    ...{ runner: kind.sandboxed ? 'sandbox' : 'builtin', effect: kind.effect, risk: kind.risk },
    ...{ argumentsDigest: `arguments-${argument}`, timeoutMs: 30_000 },
  });
  script.turn(owner, work.atMs, ['tool-guard', permitted]);
  runTool(work, { call, tool });
}

function runTool(work: Work, { call, tool }: { call: string; tool: string }): void {
  const { script, owner, dice } = work;
  const kind = sampleTools[tool] ?? sampleTools['files.read'];
  if (kind === undefined) return;
  const runner = kind.sandboxed ? 'sandbox-executor' : 'tool-runner';
  const deadlineAtMs = work.atMs + 30_000;
  const claimed = event('tool.claimed', { call, tool, attempt: 1, deadlineAtMs });
  const sandbox = `sbx_${call.slice(5)}`;
  const leased = event('sandbox.leased', { sandbox, call, isolation: 'quickjs' });
  const claim = `${script.turn(owner, work.atMs, kind.sandboxed ? [runner, claimed, leased] : [runner, claimed])}#0`;
  const slower = versionOf(tool, owner) === '1.1.0' ? 0.5 : 1;
  const durationMs = Math.round(dice.between(...kind.durationMs) * slower);
  work.atMs += durationMs;
  if (tool === 'tickets.create' && dice.chance(0.05)) {
    const lost = { call, tool, attempt: 1, because: 'runner-gone' } as const;
    const unknown = event('tool.unknown', lost, { message: text('Nobody saw how it ended.') });
    script.turn(owner, work.atMs, [runner, unknown]);
    return;
  }
  const failing = kind.failing * (versionOf(tool, owner) === '1.1.0' ? 2.5 : 1);
  const head = { call, claim, attempt: 1, tool, durationMs };
  const ran = kind.sandboxed ? { isolation: 'quickjs', exit: 'exited' } : {};
  const outcome: Draft<'tool.completed' | 'tool.failed'> = dice.chance(failing)
    ? event('tool.failed', { ...head, ...ran, ...failureOf(tool) }, { message: text('It failed.') })
    : event('tool.completed', { ...head, ...ran }, { result: json({ ok: true }) });
  script.input(owner, work.atMs, outcome);
  if (!kind.sandboxed) return;
  const released = event('sandbox.released', { sandbox, call, exit: 'exited' });
  script.turn(owner, work.atMs + 1, [runner, released]);
}

const failureOf = (tool: string) =>
  tool === 'web.fetch'
    ? ({ code: 'TIMEOUT', class: 'timeout', retryable: true } as const)
    : ({ code: 'TOOL_ERROR', class: 'tool-error', retryable: false } as const);
