import type { JsonValue } from '../../schemas/json.ts';

/** The public result of a goal, as in schemas/public/result.v1.json. Money in nano-USD, times in ISO 8601, UTC. */
export type GoalResult = Readonly<{
  goalId: string;
  session: string;
  status: 'completed' | 'failed' | 'cancelled' | 'rejected';
  /** The plan's answer; there only when completed. */
  output?: JsonValue;
  /** The goal woke a loop of this session and has none of its own: what came of it stands there. */
  takenBy?: Readonly<{ session: string; task: string; iteration?: number }>;
  /** Where tasks contradicted each other, with who said what. */
  contradictions?: readonly Readonly<{
    member: string;
    values: readonly Readonly<{ value: JsonValue; tasks: readonly string[] }>[];
  }>[];
  error?: Readonly<{
    code: string;
    message: string;
    field?: string;
    fix?: string;
    task?: string;
  }>;
  usage: Readonly<{
    inputTokens: number;
    outputTokens: number;
    /** At least that, where `costKnown` is false. */
    costNanoUsd: number;
    /** Of some calls nobody knows what they cost: a model without a price, a time-out, a cut stream. */
    costKnown?: false;
  }>;
  valueNanoUsd?: number;
  labels?: Readonly<Record<string, string>>;
  openedAt: string;
  endedAt: string;
}>;
