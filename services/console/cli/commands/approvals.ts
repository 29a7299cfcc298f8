import type { ApprovalRequest } from '../approvals/topic.ts';
import { type Call, type CommandSpec, flagOption, writeJson } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import { oneLine, shortId } from '../figures.ts';
import { table } from '../table.ts';

/** What agents have asked, and nobody has answered yet. */
export const approvalsList: CommandSpec = {
  name: 'list',
  about: 'questions of agents that wait for a person',
  options: [{ flags: '--all', about: 'also those that are over' }],
  examples: ['longrein approvals list', 'longrein approvals list --all --json'],
  async run(call) {
    const { withLog } = await import('../log-client.ts');
    const { readRequests } = await import('../approvals/topic.ts');
    const all = await withLog(call.environment, readRequests);
    const approvals = flagOption(call, 'all') ? all : all.filter(({ state }) => state === 'open');
    if (call.json) writeJson(call, { approvals });
    else call.terminal.out(tell(call, approvals));
    return exitCodes.done;
  },
};

const questionMax = 300;
const time = (iso: string | undefined): string => (iso ?? '').slice(0, 19).replace('T', ' ');

function tell(call: Call, approvals: readonly ApprovalRequest[]): string {
  if (approvals.length === 0) return 'Nothing waits for a person.\n';
  const { bold, dim } = call.terminal.colors;
  const titles = ['APPROVAL', 'ASKED (UTC)', 'STATE', 'TO', 'UNTIL (UTC)', 'SESSION', 'TASK'];
  const columns = [...titles, 'CHOICES', 'QUESTION'].map((title) => ({ title }));
  const rows = approvals.map((one) => [
    shortId(one.approval),
    time(one.askedAt),
    one.answeredBy === undefined ? one.state : `${one.decision} by ${one.answeredBy}`,
    one.to ?? '',
    time(one.dueAt),
    shortId(one.session),
    one.task,
    (one.choices ?? []).join(' | '),
    oneLine(one.question ?? '', questionMax),
  ]);
  const text = table({ columns, rows, widthMax: call.terminal.columns, paintTitle: bold });
  const how = 'longrein approvals approve|reject APPROVAL, or answer APPROVAL "…"';
  return `${text}${dim(how)}\n`;
}
