import type { RuntimeConfig } from '../../services/chassis/config/runtime-config.ts';
import { Harness } from '../../services/client/index.ts';
import { aPlan, aTask, opened, planTurn } from '../support/plan-fixtures.ts';
import { SupervisorBench } from '../support/supervisor-bench.ts';
import { percentile, print } from './figures.ts';
import { startHostProcess } from './host-process.ts';

/** How many tasks of one plan the supervisor schedules a second: one decision, inputs evaluated, timers set. */
export function scheduling(tasks = 1_000): void {
  const plan = aPlan(Array.from({ length: tasks }, (_, index) => aTask(`t${index}`)));
  const perSecond: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    const bench = new SupervisorBench();
    bench.input(opened());
    bench.append(planTurn(plan), 'planner');
    const startMs = performance.now();
    const drafts = bench.propose('supervisor');
    const seconds = (performance.now() - startMs) / 1_000;
    const scheduled = drafts.filter(({ type }) => type === 'task.scheduled').length;
    if (scheduled !== tasks) throw new Error(`${scheduled} of ${tasks} tasks were scheduled`);
    perSecond.push(tasks / seconds);
  }
  print({ bench: 'plan-scheduled', tasks, perSecond: percentile(perSecond, 0.5) });
}

/** From the client's call to the first event of its goal, on a warm stack. */
export async function firstEvent(config: RuntimeConfig, goals = 100): Promise<void> {
  const catalog = new URL('../../../test/fixtures/catalog', import.meta.url).pathname;
  const host = await startHostProcess(['all'], { LONGREIN_CATALOG: catalog });
  const harness = new Harness({ brokers: config.brokers });
  const waits: number[] = [];
  try {
    for (let count = 0; count < goals + 10; count += 1) {
      const startMs = performance.now();
      let firstMs = 0;
      const onEvent = (): void => {
        firstMs ||= performance.now() - startMs;
      };
      await harness.run({ plan: 'echo', inputs: { said: 'hello' }, onEvent });
      if (count >= 10) waits.push(firstMs);
    }
  } finally {
    await harness.close();
    await host.stop();
  }
  const [p50Ms, p95Ms] = [percentile(waits, 0.5), percentile(waits, 0.95)];
  print({ bench: 'client-to-first-event', goals, p50Ms, p95Ms });
}
