import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readFromLog } from '../../replay-tools/read/kafka.ts';
import { verifySession } from '../../replay-tools/verify/verify.ts';
import type { SeenEvent } from '../../schemas/event.ts';
import { packageRoot } from '../../services/chassis/config/package-root.ts';
import { readRuntimeConfig } from '../../services/chassis/config/runtime-config.ts';
import { createDirectoryBlobs } from '../../services/chassis/content/blobs.ts';
import { createFixedCodec } from '../../services/chassis/log/codec.ts';
import { createKafkaLog } from '../../services/chassis/log/kafka/kafka-log.ts';
import { type GoalResult, Harness } from '../../services/client/index.ts';
import { startHostProcess } from '../bench/host-process.ts';

/**
 * One goal of the examples on a real model. Nothing is claimed of its wits: it has to answer, the goal has to end, and
 * every decision has to come out the same again.
 */

const waitMs = 1_800_000;
const environment = process.env;
const model = environment['LONGREIN_REAL_MODEL'] ?? 'default';
const plan = environment['LONGREIN_REAL_MODEL_PLAN'] ?? 'one-agent';
/** Plans of the examples too: `LONGREIN_REAL_MODEL_PLAN` may name one. */
const catalogs = ['deploy/examples', 'test/real-model/catalog'];

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

function providersFile(directory: string, baseUrl: string): string {
  const path = join(directory, 'providers.yaml');
  const hasKey = environment['LONGREIN_REAL_MODEL_KEY'] !== undefined;
  const key = hasKey ? ', key: { env: LONGREIN_REAL_MODEL_KEY }' : '';
  writeFileSync(path, `providers:\n  real: { baseUrl: "${baseUrl}"${key} }\n`);
  return path;
}

type Followed = Readonly<{ result: GoalResult; agents: number; answers: number }>;

/** What each model call took, and what the model says. */
async function follow(harness: Harness): Promise<Followed> {
  let answers = 0;
  let agents = 0;
  const tell = (event: SeenEvent): void => {
    if (event.type === 'agent.created') {
      agents += 1;
    } else if (event.type === 'model.completed') {
      answers += 1;
      const { inputTokens, outputTokens, durationMs } = event.data;
      say(`answer ${answers}: ${inputTokens} tokens in, ${outputTokens} out, ${durationMs} ms`);
    } else if (event.type === 'model.failed' || event.type === 'task.failed') {
      say(`${event.type}: ${event.data.code}`);
    }
  };
  const result = await harness.settle({
    ...{ plan, goal: 'Should we move our build to Node 22?', waitMs },
    onEvent: ({ event }) => tell(event),
    onTokens: ({ text }) => process.stderr.write(text),
  });
  return { result, agents, answers };
}

/** Whether every decision of the session comes out the same again. */
async function isVerified(brokers: readonly string[], session: string): Promise<boolean> {
  const log = createKafkaLog({ brokers, clientId: 'real-model' });
  const blobs = createDirectoryBlobs(readRuntimeConfig().blobDir);
  try {
    const source = await readFromLog({ log, codec: createFixedCodec(), blobs }, session);
    return (await verifySession(source)).identical;
  } finally {
    await log.close();
  }
}

/** Answers whether all was as it has to be; says on standard output what happened. */
export async function runOnRealModel(
  { brokers }: Readonly<{ brokers: readonly string[] }>,
  { baseUrl, directory }: Readonly<{ baseUrl: string; directory: string }>,
): Promise<boolean> {
  const host = await startHostProcess(['all'], {
    LONGREIN_CATALOG: catalogs.map((one) => join(packageRoot, one)).join(','),
    LONGREIN_PROVIDERS_FILE: providersFile(directory, baseUrl),
    LONGREIN_MODEL: `real/${model}`,
  });
  const harness = new Harness({ brokers });
  try {
    const { result, agents, answers } = await follow(harness);
    const verified = await isVerified(brokers, result.session);
    const error = result.error === undefined ? '' : ` (${result.error.code})`;
    say(`${plan} on ${model}: ${result.status}${error}, ${agents} agents, ${answers} answers`);
    say(verified ? 'every decision comes out the same again' : 'decisions come out otherwise');
    // A plan that a model makes may fail there: such a run says nothing of agents.
    return agents > 0 && answers > 0 && verified;
  } finally {
    await harness.close();
    await host.stop();
  }
}
