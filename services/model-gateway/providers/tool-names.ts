/**
 * Providers allow letters, digits, "_" and "-" in tool names, 64 at most; ours may hold more. Each
 * request gets a reversible mapping, the same for the same names.
 */

import type { ModelRequest } from './port.ts';

export type ToolNames = Readonly<{
  /** The name to send for a tool. */
  toWire(name: string): string;
  /** The tool that a name from the provider means; an unknown one is given back as it is. */
  fromWire(name: string): string;
}>;

const lengthMax = 64;

/** The mapping for all the tools that `request` offers or speaks of. */
export function mapToolNames(request: ModelRequest): ToolNames {
  const wireOf = new Map<string, string>();
  const nameOf = new Map<string, string>();
  // Names that need no change keep them, whatever else is offered beside them.
  const names = [...new Set(namesIn(request))];
  for (const name of [...names.filter(isPlain), ...names.filter((each) => !isPlain(each))]) {
    const wire = freeName(name, nameOf);
    wireOf.set(name, wire);
    nameOf.set(wire, name);
  }
  return {
    toWire: (name) => wireOf.get(name) ?? name,
    fromWire: (name) => nameOf.get(name) ?? name,
  };
}

function* namesIn(request: ModelRequest): Generator<string> {
  for (const tool of request.tools) yield tool.name;
  for (const message of request.messages) {
    if (message.role === 'tool') yield message.toolName;
    if (message.role === 'assistant') yield* message.toolCalls.map((call) => call.name);
  }
}

function isPlain(name: string): boolean {
  return /^[a-zA-Z0-9_-]+$/.test(name) && name.length <= lengthMax;
}

function freeName(name: string, taken: ReadonlyMap<string, string>): string {
  const plain = name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, lengthMax) || 'tool';
  for (let attempt = 1, wire = plain; ; attempt += 1) {
    if (!taken.has(wire)) return wire;
    const suffix = `_${attempt + 1}`;
    wire = plain.slice(0, lengthMax - suffix.length) + suffix;
  }
}
