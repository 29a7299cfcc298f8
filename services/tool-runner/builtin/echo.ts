import type { BuiltinTool } from './builtin-tool.ts';

/** Gives its arguments back. */
export const echo: BuiltinTool = {
  definition: {
    name: 'echo',
    version: '1.0.0',
    description: 'Returns its arguments as they are.',
    inputSchema: { type: 'object' },
    category: 'test',
    risk: 'low',
    sideEffects: 'none',
    idempotent: true,
    runner: { kind: 'builtin', name: 'echo' },
    roles: [],
    timeoutMs: 5_000,
    argumentBytesMax: 262_144,
    resultBytesMax: 262_144,
  },
  run: (call) => Promise.resolve({ kind: 'completed', result: call.arguments }),
};
