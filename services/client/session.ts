import { sessionId } from '../chassis/protocol/ids.ts';
import type { ApprovalDecision, ApprovalOptions } from './approval.ts';
import type { CancelOptions } from './cancel.ts';
import { endingOf, HarnessClosedError } from './errors.ts';
import type { FollowOptions, Harness } from './harness.ts';
import type { Published } from './publish.ts';
import type { GoalResult } from './result.ts';
import type { SignalOptions } from './signal.ts';
import type { Update, WaitOptions } from './updates.ts';

/**
 * What names a goal: its session (`ses_…`), its own id, or the id with the tenant and the `ce_source` that it was
 * published with.
 */
export type GoalName = string | Readonly<{ goalId: string; tenant?: string; source?: string }>;

/** The session that follows from the name of its goal. */
export function sessionOf(of: GoalName): string {
  if (typeof of !== 'string') return sessionId(of.tenant ?? 'default', of.source ?? '', of.goalId);
  return of.startsWith('ses_') ? of : sessionId('default', '', of);
}

/** One session; holds nothing but its name. */
export class Session {
  /** `ses_` and 32 digits. */
  readonly id: string;
  private readonly harness: Harness;
  private readonly of: GoalName;

  constructor(harness: Harness, of: GoalName) {
    this.harness = harness;
    this.of = of;
    this.id = sessionOf(of);
  }

  /** See Harness.follow. */
  follow(options: FollowOptions = {}): AsyncGenerator<Update> {
    return this.harness.follow(this.id, options);
  }

  /** Waits for the result, whatever it is. Throws WaitEndedError, FeedBrokenError. */
  async settled(options: WaitOptions = {}): Promise<GoalResult> {
    for await (const update of this.follow(options))
      if (update.kind === 'result') return update.result;
    throw new HarnessClosedError();
  }

  /** Waits until it completed; any other ending is thrown. See Harness.run. */
  async result(options: WaitOptions = {}): Promise<GoalResult> {
    const result = await this.settled(options);
    if (result.status !== 'completed') throw endingOf(result);
    return result;
  }

  /** See Harness.cancel. */
  cancel(options: CancelOptions = {}): Promise<Published> {
    return this.harness.cancel(this.of, options);
  }

  /** See Harness.signal. */
  signal(name: string, options: SignalOptions = {}): Promise<Published> {
    return this.harness.signal(this.of, name, options);
  }

  /** See Harness.approve. */
  approve(
    decision: Omit<ApprovalDecision, 'session'>,
    options: ApprovalOptions = {},
  ): Promise<Published> {
    return this.harness.approve({ ...decision, session: this.id }, options);
  }
}
