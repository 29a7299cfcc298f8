/**
 * The pure part of the tool runner: claims calls of built-in tools and of MCP servers. Runs nothing
 * itself.
 */

import { toolCallFold } from '../../state-machines/tool-call/tool-call-machine.ts';
import { claimDraft, dueClaims } from '../chassis/effects/claim-steps.ts';
import {
  type ClaimOwner,
  foldClaims,
  noClaims,
  type ToolClaims,
} from '../chassis/effects/tool-claims.ts';
import { sha256 } from '../chassis/protocol/hash.ts';
import type { ServiceLogic } from '../chassis/protocol/service-logic.ts';

export { callOf, mayRun } from '../chassis/effects/tool-claims.ts';

export type ToolRunnerState = ToolClaims;

const owner: ClaimOwner = { service: 'tool-runner', kinds: ['builtin', 'mcp'] };

export const toolRunnerLogic: ServiceLogic<ToolRunnerState> = {
  name: owner.service,
  behaviour: 1,
  fold: 1,
  machines: { [toolCallFold.id]: sha256(toolCallFold.definition) },
  initial: () => noClaims,
  evolve: (state, event) => foldClaims(state, event, owner),
  answers: (event) => event.type === 'tool.permitted' && owner.kinds.includes(event.data.runner),
  decide: (state, input) => dueClaims(state, input).map(claimDraft),
};
