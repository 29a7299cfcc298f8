import { lanes, sessionTopic } from '../../schemas/topics.ts';
import { createToolEffects } from '../chassis/effects/tool-effects.ts';
import type { Effects } from '../chassis/host/ports.ts';
import { anyLogic, type ServiceFactory } from '../chassis/host/service-context.ts';
import { readSandboxConfig } from './config.ts';
import { callOf, mayRun, type SandboxExecutorState, sandboxExecutorLogic } from './decide.ts';
import { createQuickJsRunner } from './runners/quickjs.ts';
import { createSandboxTool } from './sandbox-tool.ts';

/** Runs untrusted code in the embedded WASM sandbox. */
export const createSandboxExecutor: ServiceFactory = ({ ports }) => {
  const { allowance, workersMax } = readSandboxConfig();
  const { memoryBytesMax } = allowance;
  const sandbox = createQuickJsRunner({ workers: workersMax, memoryBytesMax });
  const runner = createSandboxTool({ sandbox, allowance, nowMs: () => ports.clock.nowMs() });
  const effects = createToolEffects<SandboxExecutorState>({
    clock: ports.clock,
    logger: ports.logger,
    callOf,
    mayRun,
    runnerFor: () => runner,
  });
  return {
    hosted: {
      logic: anyLogic(sandboxExecutorLogic),
      topics: lanes.map(sessionTopic),
      facts: () => ({ facts: { isolation: sandbox.isolation } }),
      effects: effects as Effects<unknown>,
      stop: () => runner.close(),
    },
  };
};
