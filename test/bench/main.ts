import { readRuntimeConfig } from '../../services/chassis/config/runtime-config.ts';
import { agentSteps } from './agent-steps.ts';
import { machine, print } from './figures.ts';
import { memory } from './memory.ts';
import { firstEvent, scheduling } from './plans.ts';
import { rawHop } from './raw-client.ts';
import { storeRows } from './store-rows.ts';
import { turns } from './turns.ts';

type Stack = Readonly<{ brokers: readonly string[]; clickhouseUrl: string | null }>;

/** Every figure, or those whose names are given: hop, steps, plans, store, memory. */
export async function bench(stack: Stack, names: readonly string[]): Promise<void> {
  const wants = (name: string): boolean => names.length === 0 || names.includes(name);
  const config = readRuntimeConfig({ ...process.env, LONGREIN_LOG_LEVEL: 'error' });
  print(machine());
  if (wants('hop')) await turns(config, await rawHop(stack.brokers, 1_000));
  if (wants('steps')) await agentSteps(config);
  if (wants('plans')) {
    scheduling();
    await firstEvent(config);
  }
  if (wants('store')) await storeRows(config);
  if (wants('memory')) await memory();
}
