import type { ApprovalDecision, ApprovalOptions } from './approval.ts';
import type { CancelOptions } from './cancel.ts';
import { endingOf, HarnessClosedError } from './errors.ts';
import { type GoalName, sessionOf } from './goal-name.ts';
import type { Published } from './publish.ts';
import type { GoalResult } from './result.ts';
import type { SignalOptions } from './signal.ts';
import type { FollowOptions, Update, WaitOptions } from './updates.ts';

/** What a session asks of the client that made it. */
export interface SessionCalls {
  follow(of: GoalName, options?: FollowOptions): AsyncGenerator<Update>;
  cancel(of: GoalName, options?: CancelOptions): Promise<Published>;
  signal(of: GoalName, name: string, options?: SignalOptions): Promise<Published>;
  approve(decision: ApprovalDecision, options?: ApprovalOptions): Promise<Published>;
}

/** One session; holds nothing but its name. */
export class Session {
  /** `ses_` and 32 digits. */
  readonly id: string;
  private readonly harness: SessionCalls;
  private readonly of: GoalName;

  constructor(harness: SessionCalls, of: GoalName) {
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
