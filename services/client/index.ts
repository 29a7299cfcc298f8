/** What `import … from 'longrein'` gives. */
export type { DataOf, EventType, SeenEvent } from '../../schemas/event.ts';
export type { JsonObject, JsonValue } from '../../schemas/json.ts';
export { LongreinError } from '../chassis/errors.ts';
export type { ApprovalDecision, ApprovalOptions } from './approval.ts';
export type { CancelOptions } from './cancel.ts';
export {
  CursorInvalidError,
  FeedBrokenError,
  GoalCancelledError,
  GoalEndedError,
  GoalFailedError,
  GoalInvalidError,
  GoalRejectedError,
  HarnessClosedError,
  HarnessError,
  StackEmptyError,
  WaitEndedError,
} from './errors.ts';
export type { GoalName } from './goal-name.ts';
export type { GoalRequest } from './goal-request.ts';
export { Harness, type HarnessOptions, type RunOptions, type Submitted } from './harness.ts';
export type { Published } from './publish.ts';
export type { GoalResult } from './result.ts';
export type { Session } from './session.ts';
export type { SignalOptions } from './signal.ts';
export type { ModelTokens } from './tokens.ts';
export type { FollowOptions, Update, WaitOptions } from './updates.ts';
