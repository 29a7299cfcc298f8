import { agentFold } from '../../../state-machines/agent/agent-machine.ts';
import { sandboxFold } from '../../../state-machines/sandbox/sandbox-machine.ts';
import { sessionFold } from '../../../state-machines/session/session-machine.ts';
import { taskFold } from '../../../state-machines/task/task-machine.ts';
import { toolCallFold } from '../../../state-machines/tool-call/tool-call-machine.ts';

type Definition = Readonly<{
  states: Readonly<Record<string, { transitions: readonly { eventType: string }[] }>>;
}>;

const machines: Readonly<Record<string, { definition: string }>> = {
  session: sessionFold,
  task: taskFold,
  agent: agentFold,
  'tool-call': toolCallFold,
  sandbox: sandboxFold,
};

/** The name under which it is counted that a machine in this state took this event. */
export const transitionName = (machine: string, state: string, type: string): string =>
  `transition ${machine} ${state} > ${type}`;

/** Every pair of state and event that the definitions of the machines have. */
export const allTransitions: readonly string[] = Object.entries(machines).flatMap(
  ([machine, { definition }]) =>
    Object.entries((JSON.parse(definition) as Definition).states).flatMap(([state, node]) => [
      ...new Set(
        node.transitions.map(({ eventType }) => transitionName(machine, state, eventType)),
      ),
    ]),
);
