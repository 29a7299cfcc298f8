/** Tools that every catalog has, and whose calls no runner carries out. */

import type { ToolDefinition } from '../../../schemas/definitions/tool.ts';
import { delegateTool, handoffTool } from './delegation-tools.ts';
import { askPersonTool } from './person-tool.ts';

export const builtInTools: Readonly<Record<string, ToolDefinition>> = Object.fromEntries(
  [askPersonTool, delegateTool, handoffTool].map((tool) => [tool.name, tool]),
);
