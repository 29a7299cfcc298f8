import type { SeenEvent } from '../../../schemas/event.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { plannerAgent } from '../../../services/planner/state.ts';
import type { Persisted } from '../../../state-machines/fold.ts';
import { type Coverage, note } from '../world/coverage.ts';
import type { Line, SessionHistory } from '../world/history.ts';
import { transitionName } from '../world/transitions.ts';
import { type Moved, movedBy, renewedBy } from './machines.ts';
import type { Checker, Violation } from './violation.ts';

const rule = 'the log of a session is valid for every machine';

type Past = readonly Readonly<{ offset: number; state: Persisted }>[];

/** The machines of one session, with every state that they were in. */
class Machines {
  readonly #pasts = new Map<string, Past>();
  readonly agentOf = new Map<string, string>();

  past({ machine, id }: Moved): Past {
    return this.#pasts.get(`${machine.name} ${id}`) ?? [{ offset: -1, state: machine.initial }];
  }

  move(moved: Moved, offset: number, state: Persisted): void {
    const past = [...this.past(moved), { offset, state }];
    this.#pasts.set(`${moved.machine.name} ${moved.id}`, past);
  }

  stateAt(moved: Moved, offset: number): Persisted {
    const known = this.past(moved).filter((one) => one.offset <= offset);
    return known.at(-1)?.state ?? moved.machine.initial;
  }

  noteAgent(event: SeenEvent): void {
    if (event.type !== 'tool.requested' && event.type !== 'model.requested') return;
    // A plan that a model makes is made by no agent that has a life.
    if (event.data.agent === plannerAgent) return;
    this.agentOf.set(event.data.call, event.data.agent);
  }
}

/** An own event may meet a state that moved on; one that the state at its base refuses too is wrong. */
function refusedAtBase(machines: Machines, moved: Moved, line: Line, index: number): boolean {
  if (line.body.kind !== 'turn') return false;
  let state = machines.stateAt(moved, line.body.baseOffset);
  for (const event of line.step.events.slice(0, index)) {
    const same = movedBy(event, machines.agentOf).some(
      ({ machine, id }) => machine === moved.machine && id === moved.id,
    );
    if (same) state = moved.machine.fold(state, event);
  }
  const event = line.step.events[index];
  return event !== undefined && moved.machine.fold(state, event) === state;
}

function step(
  machines: Machines,
  at: { line: Line; index: number; event: SeenEvent },
  coverage: Coverage,
): Violation[] {
  const { line, index, event } = at;
  machines.noteAgent(event);
  for (const renewed of renewedBy(event))
    if (machines.past(renewed).at(-1)?.state.value === 'skipped')
      machines.move(renewed, line.offset, renewed.machine.initial);
  return movedBy(event, machines.agentOf).flatMap((moved) => {
    const { machine, id } = moved;
    const before = machines.past(moved).at(-1)?.state ?? machine.initial;
    const after = machine.fold(before, event);
    if (after !== before) {
      note(coverage, transitionName(machine.name, before.value, event.type));
      machines.move(moved, line.offset, after);
      return [];
    }
    note(coverage, `refused by ${machine.name} ${before.value}: ${event.type}`);
    if (!moved.own || !refusedAtBase(machines, moved, line, index)) return [];
    const where = `${line.topic}/${line.partition}@${line.offset}#${index}`;
    const detail = `${where} ${line.header.service}: ${event.type} of ${machine.name} ${id} in ${before.value}`;
    return [{ rule, detail: `${detail} ${JSON.stringify(event.data as unknown as JsonObject)}` }];
  });
}

function checkSession({ lines, core, session }: SessionHistory, coverage: Coverage): Violation[] {
  const machines = new Machines();
  const found = lines.flatMap((line) =>
    line.step.events.flatMap((event, index) => step(machines, { line, index, event }, coverage)),
  );
  const opened = core.status === 'closed';
  const ending = lines.flatMap((line) => line.step.events).at(-1);
  if (opened && ending?.type !== 'session.closed')
    found.push({ rule, detail: `${session} ends with ${ending?.type}` });
  return found;
}

export const machinesLegal: Checker = ({ history, coverage }) =>
  [...history.sessions.values()]
    .filter(({ session }) => session.startsWith('ses_'))
    .flatMap((session) => checkSession(session, coverage));
