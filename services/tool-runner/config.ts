import { join } from 'node:path';
import type { RuntimeConfig } from '../chassis/config/runtime-config.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What the tool runner takes from outside. MCP servers see of the environment only what their entry names. */
export function readToolRunnerConfig(
  config: RuntimeConfig,
  environment: Environment = process.env,
): Readonly<{ environment: Environment; counterDir: string }> {
  const counterDir = environment['LONGREIN_COUNTER_DIR'] ?? join(config.stateDir, 'counters');
  return { environment, counterDir };
}
