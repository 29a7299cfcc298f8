import { deadLettersTopic, resultsTopic } from '../../../schemas/topics.ts';
import { deliveriesOf } from '../../../services/chassis/protocol/dead-letter.ts';
import { destinationOf } from '../../../services/chassis/protocol/decision.ts';
import { inputId } from '../../../services/chassis/protocol/ids.ts';
import type { Delivery } from '../../../services/chassis/protocol/service-logic.ts';
import type { SessionHistory } from '../world/history.ts';
import type { Run } from '../world/run-outcome.ts';
import type { Checker, Violation } from './violation.ts';

const rule = 'what a session sends to one place arrives in the order of its events';

const idOf = (delivery: Delivery): string =>
  delivery.to === 'log' ? inputId(delivery.session, delivery.identity) : delivery.id;

/** Where a record with this id first stands in each topic: `topic id` -> offset. */
function firstPlaces({ history, results, deadLetters }: Run): ReadonlyMap<string, number> {
  const first = new Map<string, number>();
  const note = (name: string, offset: number): void => {
    if (!first.has(name)) first.set(name, offset);
  };
  for (const { topic, offset, header } of history.lines)
    if (header.kind === 'input') note(`${topic} ${header.id}`, offset);
  for (const { offset, headers } of results) note(`${resultsTopic} ${headers['ce_id']}`, offset);
  for (const { offset, headers } of deadLetters)
    note(`${deadLettersTopic} ${headers['ce_id']}`, offset);
  return first;
}

/** All that a session sends, by service and place, in the order of its events. */
function linesOf({ history }: Run, { lines, core }: SessionHistory): Map<string, Delivery[]> {
  const sent = new Map<string, Delivery[]>();
  for (const { body, step } of lines) {
    if (body.kind !== 'turn') continue;
    const logic = history.logicOf(body.service, body.behaviour);
    if (logic === undefined) continue;
    for (const delivery of step.events.flatMap((event) => deliveriesOf(logic, event, core.meta))) {
      const line = `${body.service} ${destinationOf(delivery)}`;
      sent.set(line, [...(sent.get(line) ?? []), delivery]);
    }
  }
  return sent;
}

export const deliveriesInOrder: Checker = (run) => {
  const first = firstPlaces(run);
  const found: Violation[] = [];
  for (const session of run.history.sessions.values()) {
    for (const [line, deliveries] of linesOf(run, session)) {
      let newest = -1;
      for (const delivery of deliveries) {
        const offset = first.get(`${delivery.topic} ${idOf(delivery)}`);
        // Not taken by the broker, or not there yet.
        if (offset === undefined) continue;
        if (offset < newest)
          found.push({ rule, detail: `${session.session}, ${line}: ${idOf(delivery)} came first` });
        newest = Math.max(newest, offset);
      }
    }
  }
  return found;
};
