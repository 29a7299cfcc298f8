/** How the agents of a plan heal themselves: what their templates say, as services want it. Pure. */

import type {
  AgentDefinition,
  ErrorPolicy,
  Replacement,
  TemplateBreaker,
} from '../../../schemas/definitions/agent.ts';
import { hashOf } from '../protocol/hash.ts';
import { resumesAttempts } from './agent-form.ts';

/** A version of a template with the rules of its breaker. */
export type TemplateRules = TemplateBreaker & Readonly<{ agent: string; digest: string }>;

/**
 * `resumes`: a further attempt of the same agent goes on from what is recorded. `ladder`: its steps decide, not the plan's
 * attempts. `given`: the breaker of its template has a say also where the work was given by another agent.
 */
export type RecoveryPolicy = Readonly<{
  restart: number;
  replaceWith: readonly Replacement[];
  escalationsMax: number;
  resumes: boolean;
  ladder: boolean;
  template?: TemplateRules;
  given?: true;
}>;

/** Whether a template says how its agents are healed. */
export const heals = (policy: Partial<ErrorPolicy>): boolean =>
  hasLadder(policy) || policy.breaker !== undefined;

const hasLadder = ({ restart, replaceWith, escalate }: Partial<ErrorPolicy>): boolean =>
  (restart ?? replaceWith ?? escalate) !== undefined;

/** The policy of an agent; undefined where the plan's attempts are all that it has. */
export function recoveryPolicyOf(agent: AgentDefinition): RecoveryPolicy | undefined {
  const { form, onError } = agent;
  if (form === undefined || form < 3 || onError === undefined || !heals(onError)) return undefined;
  const { restart = 0, replaceWith = [], escalate, breaker } = onError;
  const escalationsMax = escalate?.timesMax ?? 0;
  const steps = { restart, replaceWith, escalationsMax, ladder: hasLadder(onError) };
  const policy = { ...steps, resumes: resumesAttempts(agent) };
  if (breaker === undefined) return policy;
  const template = { agent: agent.name, digest: hashOf(agent), ...breaker };
  return { ...policy, template, ...(form >= 4 ? { given: true } : {}) };
}

/** By name of the agent; undefined where none has a policy. */
export function recoveryPoliciesOf(
  agents: Readonly<Record<string, AgentDefinition>>,
): Readonly<Record<string, RecoveryPolicy>> | undefined {
  const found = Object.entries(agents).flatMap(([name, agent]) => {
    const policy = recoveryPolicyOf(agent);
    return policy === undefined ? [] : [[name, policy] as const];
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

/** The agents that may take over from this one. */
export const replacementsOf = ({ onError }: AgentDefinition): readonly string[] =>
  (onError?.replaceWith ?? []).flatMap((one) => ('agent' in one ? [one.agent] : []));

/** The models that may take over. */
export const replacementModelsOf = ({ onError }: AgentDefinition): readonly string[] =>
  (onError?.replaceWith ?? []).flatMap((one) => ('model' in one ? [one.model] : []));
