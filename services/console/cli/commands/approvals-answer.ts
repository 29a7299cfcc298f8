import { userInfo } from 'node:os';
import type { ApprovalDecision } from '../../../client/approval.ts';
import type { ApprovalRequest } from '../approvals/topic.ts';
import { type Call, type CommandSpec, type OptionSpec, textOption, writeJson } from '../context.ts';
import { type ExitCode, exitCodes, UsageError } from '../exit-code.ts';
import { shortId } from '../figures.ts';
import { jsonOrText } from '../goal-draft.ts';

const options: readonly OptionSpec[] = [
  { flags: '--reason <text>', about: 'why; the agent reads it, and it stands in the log' },
  { flags: '--as <name>', about: 'who, if not the user of this machine' },
];

type Said = Readonly<{ decision: ApprovalDecision['decision']; answer?: string }>;

/** One of the choices as it is written, else JSON or text. Throws UsageError for what is no choice. */
function answerOf(
  { choices }: ApprovalRequest,
  { answer }: Said,
): Pick<ApprovalDecision, 'answer'> {
  if (answer === undefined) return {};
  if (choices === undefined) return { answer: jsonOrText(answer) };
  if (choices.includes(answer)) return { answer };
  const fix = `One of: ${choices.join(', ')}.`;
  throw new UsageError(`"${answer}" is not among the choices`, fix);
}

/** Finds what is answered, and publishes the answer. */
async function publish(call: Call, said: Said): Promise<ExitCode> {
  const [name = ''] = call.args;
  const { withLog } = await import('../log-client.ts');
  const { openRequest, readRequests } = await import('../approvals/topic.ts');
  const { publishDecision } = await import('../../../client/approval.ts');
  const reason = textOption(call, 'reason');
  const decidedBy = (textOption(call, 'as')?.trim() || userInfo().username).slice(0, 512);
  const { decision } = said;
  const sent = await withLog(call.environment, async (log) => {
    const request = openRequest(await readRequests(log), name);
    const { session, approval } = request;
    const more = { ...answerOf(request, said), ...(reason === undefined ? {} : { reason }) };
    await publishDecision(log, { session, approval, decision, decidedBy, ...more });
    return { session, approval, decision, decidedBy, ...more };
  });
  const { session, approval } = sent;
  const told = `${decision} ${shortId(approval)} of session ${session} as ${decidedBy}.\n`;
  if (call.json) writeJson(call, sent);
  else call.terminal.out(told);
  return exitCodes.done;
}

/** Answers a question in words, or with one of its choices. */
export const approvalsAnswer: CommandSpec = {
  name: 'answer <approval> <answer>',
  about: 'answer a question of an agent: JSON, else text; one of the choices where there are some',
  options,
  examples: ['longrein approvals answer call_1f0c2d "the second one"'],
  run(call) {
    const [, answer = ''] = call.args;
    return publish(call, { decision: 'answered', answer });
  },
};

/** Lets an agent go on. */
export const approvalsApprove: CommandSpec = {
  name: 'approve <approval>',
  about: 'grant what an agent asks for',
  options,
  examples: ['longrein approvals approve call_1f0c2d --reason "checked with the owner"'],
  run: (call) => publish(call, { decision: 'granted' }),
};

/** Does not let it. */
export const approvalsReject: CommandSpec = {
  name: 'reject <approval>',
  about: 'deny what an agent asks for',
  options,
  examples: ['longrein approvals reject call_1f0c2d --reason "not on a Friday"'],
  run: (call) => publish(call, { decision: 'denied' }),
};
