import { expect, test } from 'vitest';
import { budgetLogId } from '../../../../../../services/chassis/protocol/ids.ts';
import { dayOf } from '../../../../../../services/model-gateway/tranche.ts';
import { MemoryWorld } from '../../../../../support/memory-world.ts';
import { statusesOf, WorldProof } from '../../../../../support/world-proof.ts';

/** Hard edge 1b.9: a model that heard nothing of a cancel answers when the session has long closed, and that costs. */

const lentNanoUsd = 2_500;
const answer = { text: 'Too late.', afterMs: 900_000, deaf: true } as const;

/** A session that was cancelled while its model was asked, and whose answer came in after it had closed. */
async function cancelledWhileAsked() {
  const world = await MemoryWorld.start({
    model: () => answer,
    dayBudget: { limitNanoUsd: 20_000, trancheNanoUsd: lentNanoUsd },
  });
  const day = dayOf(world.clock.nowMs());
  const goal = world.publishGoal({ id: 'ask', goal: 'Ask.', plan: 'ask' });
  await world.clock.run(2_000, () => world.started.length === 1);
  world.publishCancel('ask');
  expect(await world.runUntilDone(answer.afterMs - 60_000)).toBe(true);
  await world.clock.run(answer.afterMs);
  const ofDay = { goalId: '', goalLog: '', session: budgetLogId('default', day) };
  return {
    world,
    proof: await WorldProof.of(world, goal),
    money: await WorldProof.of(world, ofDay),
  };
}

test('an outcome with cost for a closed session is kept as late, once, and the day has paid for it', async () => {
  const { world, proof, money } = await cancelledWhileAsked();
  expect(statusesOf(world)).toEqual({ ask: 'cancelled' });
  expect(world.results()).toHaveLength(1);
  expect(proof.all('model.completed')).toEqual([]);
  // What the view `late_outcomes` makes one row of.
  expect(proof.ignored('model.completed')).toEqual({ late: 1 });
  expect(proof.judged.records.at(-1)?.record.body).toMatchObject({
    kind: 'input',
    event: { type: 'model.completed', data: { costNanoUsd: 1_000 + answer.text.length } },
  });
  // Nobody knew what it would cost when the session closed: all that was held for it counts as spent.
  const returned = money.all('tranche.returned').map(({ data }) => data);
  expect(returned).toMatchObject([{ lentNanoUsd, spentNanoUsd: lentNanoUsd }]);
});
