import { lanes, sessionTopic } from '../../schemas/topics.ts';
import { createToolEffects } from '../chassis/effects/tool-effects.ts';
import type { Effects } from '../chassis/host/ports.ts';
import { anyLogic, type ServiceFactory } from '../chassis/host/service-context.ts';
import { createBuiltinRunner } from './builtin/builtin-runner.ts';
import { readToolRunnerConfig } from './config.ts';
import { callOf, mayRun, type ToolRunnerState, toolRunnerLogic } from './decide.ts';
import { createMcpTool } from './mcp/mcp-tool.ts';

/** Runs built-in tools in this process and MCP servers as its children. */
export const createToolRunner: ServiceFactory = ({ config, catalog, ports }) => {
  const { environment, counterDir } = readToolRunnerConfig(config);
  const nowMs = (): number => ports.clock.nowMs();
  const builtin = createBuiltinRunner({ counterDirectory: counterDir, nowMs });
  const mcp = createMcpTool({
    servers: Object.values(catalog.mcpServers),
    nowMs,
    environment,
    workspace: config.workspaceDir,
    logger: ports.logger,
  });
  const effects = createToolEffects<ToolRunnerState>({
    clock: ports.clock,
    logger: ports.logger,
    callOf,
    mayRun,
    runnerFor: (call) => (call.definition.runner.kind === 'mcp' ? mcp : builtin),
  });
  return {
    hosted: {
      logic: anyLogic(toolRunnerLogic),
      topics: lanes.map(sessionTopic),
      effects: effects as Effects<unknown>,
      stop: async () => {
        await Promise.all([builtin.close(), mcp.close()]);
      },
    },
  };
};
