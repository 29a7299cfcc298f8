import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import { bodyOf } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import type { PreparedAnswer } from '../../services/chassis/effects/prepared-answers.ts';
import { LongreinError } from '../../services/chassis/errors.ts';
import { isMissing } from '../read/contents.ts';
import { type Happening, type History, textIn } from '../read/history.ts';
import type { Mock } from './answers.ts';

/** Answers for the tools of a fork whose models alone are live: nothing of it may reach the world but model calls. */

export type ToolAnswers =
  | Readonly<{ from: 'record' }>
  | Readonly<{ from: 'mock'; mocks: readonly Mock[] }>;

const toolEnds: ReadonlySet<string> = new Set(['tool.completed', 'tool.failed']);

function refuse(message: string, fix: string): never {
  throw new LongreinError('FORK_NOT_LIVE', message, { fix });
}

function answerOf(asked: Happening, ended: Happening): PreparedAnswer | undefined {
  if (asked.event.type !== 'tool.requested') return undefined;
  const { tool, agent } = asked.event.data;
  const { arguments: given } = asked.event.content;
  const said = ended.event.type === 'tool.completed' ? ended.event.content.result : undefined;
  const message = ended.event.type === 'tool.failed' ? ended.event.content.message : undefined;
  const content = said ?? message;
  if (isMissing(given) || content === undefined || isMissing(content))
    refuse(
      `what ${tool} answered at ${ended.place} is not to be had here`,
      'give the keys and the blobs of the session, or answer by --tools mock FILE',
    );
  const call = { from: 'record', tool, agent, arguments: bodyOf(given), once: true } as const;
  if (ended.event.type !== 'tool.failed') return { ...call, result: bodyOf(content) };
  const { code, class: kind, retryable } = ended.event.data;
  return { ...call, failure: { code, class: kind, retryable, message: String(bodyOf(content)) } };
}

/** What the record has from the fork on: one answer for each call that ended there, in order. */
function recordedAnswers(history: History, at: Happening): readonly PreparedAnswer[] {
  const asked = new Map<string, Happening>();
  const answers: PreparedAnswer[] = [];
  for (const one of history.whole) {
    if (one.event.type === 'tool.requested') asked.set(textIn(one, 'call'), one);
    const request = asked.get(textIn(one, 'call'));
    const isLater = one.offset >= at.offset && !history.shared.includes(one);
    if (!toolEnds.has(one.event.type) || !isLater || request === undefined) continue;
    const answer = answerOf(request, one);
    if (answer !== undefined) answers.push(answer);
  }
  return answers;
}

function mockedAnswers(mocks: readonly Mock[]): readonly PreparedAnswer[] {
  return mocks.flatMap(({ tool, agent, arguments: given, result = null, failure }) => {
    if (tool === undefined) return [];
    const end = failure === undefined ? { result } : { failure };
    return [
      {
        ...({ from: 'mock', tool, ...end } as const),
        ...(agent === undefined ? {} : { agent }),
        ...(given === undefined ? {} : { arguments: given }),
      },
    ];
  });
}

/** Mocks first; what they do not answer is answered by the record. */
export function preparedAnswers(
  history: History,
  at: Happening,
  tools: ToolAnswers,
): readonly PreparedAnswer[] {
  const recorded = recordedAnswers(history, at);
  return tools.from === 'record' ? recorded : [...mockedAnswers(tools.mocks), ...recorded];
}

/** So many branches stay in their session where a plan does not say otherwise. */
const branchesMax = 32;

type Planned = PinnedCatalog['plan'];

function mayBranchOut({ tasks, replan }: Planned): string | undefined {
  if (replan !== undefined) return 'the rest of its plan may be made anew';
  const wide = tasks.find(
    ({ fanOut }) =>
      fanOut !== undefined &&
      (fanOut.over !== undefined ||
        fanOut.spread !== undefined ||
        (fanOut.branches ?? []).length > branchesMax),
  );
  return wide === undefined ? undefined : `task ${wide.id} may run in child sessions`;
}

/** Refuses what would reach the world by another way than a tool of this session. Throws FORK_NOT_LIVE. */
export function refuseOtherWays(history: History, at: Happening): void {
  const accepted = history.whole
    .filter(
      (one) =>
        one.event.type === 'plan.accepted' &&
        history.whole.indexOf(one) < history.whole.indexOf(at),
    )
    .at(-1);
  const fix = 'rehearse it (leave out --models live), or fork with --tools live';
  if (accepted?.event.type !== 'plan.accepted')
    refuse(`at ${at.place} no plan is settled, and nobody knows which tools it will need`, fix);
  const catalog = bodyOf(accepted.event.content.catalog) as unknown as PinnedCatalog;
  const person = Object.values(catalog.tools).find(({ runner }) => runner.kind === 'person');
  if (person !== undefined) refuse(`${person.name} asks people, who are no tool of a record`, fix);
  const outside = mayBranchOut(catalog.plan);
  if (outside !== undefined) refuse(`${outside}, where tools would be live`, fix);
}

/** As content of an opening. */
export const answersContent = (answers: readonly PreparedAnswer[]): JsonValue =>
  answers as unknown as JsonValue;
