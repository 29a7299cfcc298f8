import { describe, expect, it } from 'vitest';
import { Harness } from '../../../../services/client/index.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { catalogWith } from '../../../support/world-proof.ts';

const watch = `
name: watch
version: 1.0.0
description: Waits for two alerts.
tasks:
  - id: watch
    pool: test
    agent: echoer
    input: { alert: =signal.payload.n, before: =previous.alert }
    loop: { wake: { signals: [alert] }, exit: { iterationsMax: 2 } }
output: { kind: collect, shape: =tasks.watch.last }
`;

async function running() {
  const world = await MemoryWorld.start({ catalog: catalogWith({ 'plans/watch.yaml': watch }) });
  const harness = new Harness({ log: world.connect('client') });
  const { session } = await world.during(harness.submit({ plan: 'watch', id: 'w' }));
  await world.clock.run(5_000);
  const signal = (n: number, id = `s${n}`, name = 'alert') =>
    world.during(harness.signal('w', name, { payload: { n }, id }));
  return { world, harness, session, signal };
}

describe('a signal', () => {
  it('wakes the loop of the goal that it names; a repeat and another name do not', async () => {
    const { world, harness, session, signal } = await running();
    await signal(1);
    await world.clock.run(2_000);
    await signal(1);
    await signal(2, 'x', 'other');
    await world.clock.run(2_000);
    expect(world.results()).toEqual([]);
    await signal(2);
    const result = await world.during(harness.session(session).result());
    expect(result.output).toEqual({ alert: 2, before: 1 });
    await harness.close();
  });

  it('of a goal that ended, or that nobody knows, does nothing', async () => {
    const { world, harness, signal } = await running();
    await signal(1);
    await signal(2);
    await world.during(harness.session('w').result());
    await signal(3);
    await world.during(harness.signal('nobody', 'alert'));
    await world.clock.run(5_000);
    expect(world.results()).toHaveLength(1);
    expect(world.fatal).toEqual([]);
    await harness.close();
  });
});
