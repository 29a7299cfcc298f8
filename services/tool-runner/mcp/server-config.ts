import type { McpServerDefinition } from '../../../schemas/definitions/mcp-server.ts';

/**
 * How a server is started: as a program of an npm package (what files can say), or by a command of
 * the system (for hosts that are wired by code). `trusted` is for those who define its tools;
 * running them does not use it.
 */
export type McpServerConfig =
  | McpServerDefinition
  | (Readonly<{ command: string }> & Omit<McpServerDefinition, 'package' | 'bin'>);
