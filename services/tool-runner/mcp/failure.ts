/** The failures of calls to MCP servers, each with its code, its class and what to do about it. */
import type { ToolFailure } from '../../chassis/effects/tool-port.ts';
import { LongreinError } from '../../chassis/errors.ts';

const namesShownMax = 40;

/** The server could not be started or is not up: nothing of the call has happened. */
export function unavailable(server: string, error: Error): ToolFailure {
  const known = error instanceof LongreinError ? error : undefined;
  const failure: ToolFailure = {
    code: known?.code ?? 'MCP_UNAVAILABLE',
    message: `The MCP server ${server} is not available: ${error.message}.`,
    class: 'unavailable',
    retryable: known?.retryable ?? true,
  };
  return known?.fix === undefined ? failure : { ...failure, fix: known.fix };
}

export function unknownServer(server: string, names: readonly string[]): ToolFailure {
  return {
    code: 'MCP_SERVER_UNKNOWN',
    message: `There is no MCP server ${server}.`,
    class: 'not-found',
    retryable: false,
    fix: `Add it to the MCP servers; there are ${listed(names)}.`,
  };
}

export function unknownTool(server: string, tool: string, names: readonly string[]): ToolFailure {
  return {
    code: 'MCP_TOOL_UNKNOWN',
    message: `The MCP server ${server} has no tool ${tool}.`,
    class: 'not-found',
    retryable: false,
    fix: `Use a tool that it has: ${listed(names)}.`,
  };
}

/** The server runs and did not answer. */
export function checkedLate(server: string): ToolFailure {
  return {
    code: 'MCP_CHECK_LATE',
    message: `The MCP server ${server} runs, but did not say in time which tools it has.`,
    class: 'timeout',
    retryable: true,
    fix: 'Look at what it does; its `startTimeoutMs` is how long it may take.',
  };
}

/** It answered with an error of the protocol. */
export function checkRefused(server: string, why: string): ToolFailure {
  return {
    code: 'MCP_CHECK_REFUSED',
    message: `The MCP server ${server} did not want to say which tools it has: ${why.slice(0, 2_000)}.`,
    class: 'denied',
    retryable: false,
    fix: 'Check its arguments and variables, such as its credentials.',
  };
}

type Changed = Readonly<{ server: string; tool: string; file: string; why: string }>;

/** What the tool takes there is not what the session knows of it. */
export function schemaChanged({ server, tool, file, why }: Changed): ToolFailure {
  return {
    code: 'MCP_SCHEMA_CHANGED',
    message: `The tool ${tool} of the MCP server ${server} is not what "${file}" says: ${why}.`,
    class: 'invalid-arguments',
    retryable: false,
    fix: 'Write a new version of the tool file, or run the version of the server that it is for.',
  };
}

export function invalidArguments(message: string): ToolFailure {
  const fix = 'Send an object that the input schema of the tool allows.';
  return {
    code: 'MCP_ARGUMENTS_INVALID',
    message,
    class: 'invalid-arguments',
    retryable: false,
    fix,
  };
}

export function tooLarge(tool: string, what: string): ToolFailure {
  return {
    code: 'MCP_RESULT_TOO_LARGE',
    message: `The result of ${tool} is too large: ${what}.`,
    class: 'limit',
    retryable: false,
    fix: 'Ask for less at a time, or raise `resultBytesMax` of the tool.',
  };
}

export function crashed(server: string, how: string, stderr: string): ToolFailure {
  const said = stderr.trim() === '' ? '' : ` It last wrote: ${stderr.trim().slice(-500)}`;
  return {
    code: 'MCP_SERVER_DIED',
    message: `The MCP server ${server} ended during the call (${how}).${said}`,
    class: 'crashed',
    retryable: true,
  };
}

export function timedOut(tool: string): ToolFailure {
  return {
    code: 'MCP_TIMEOUT',
    message: `The call of ${tool} did not end before its deadline.`,
    class: 'timeout',
    retryable: true,
    fix: 'Ask for less at a time, or give the tool and the task more time.',
  };
}

/** No progress was told for longer than the tool may be silent. */
export function fellSilent(tool: string, silenceMs: number): ToolFailure {
  return {
    code: 'MCP_SILENT',
    message: `The call of ${tool} gave no sign of progress for ${silenceMs} ms.`,
    class: 'timeout',
    retryable: true,
    fix: 'Look at the server, or allow longer silence with `silenceMs` of the tool.',
  };
}

export function cancelled(tool: string): ToolFailure {
  const message = `The call of ${tool} was cancelled.`;
  return { code: 'MCP_CANCELLED', message, class: 'cancelled', retryable: false };
}

export function toolError(code: string, message: string): ToolFailure {
  return { code, message, class: 'tool-error', retryable: false };
}

function listed(names: readonly string[]): string {
  if (names.length === 0) return 'none';
  const shown = names.slice(0, namesShownMax).join(', ');
  return names.length > namesShownMax ? `${shown} and ${names.length - namesShownMax} more` : shown;
}
