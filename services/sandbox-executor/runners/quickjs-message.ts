/** What is said about a run that gave no value: one sentence, with the limit that was passed. */
import type { SandboxLimits, SandboxReason } from './port.ts';

/** How a run ended, as its thread says it, or as it is seen from outside. */
export type Ended = Readonly<{
  code?: SandboxReason['code'];
  name?: string;
  message?: string;
  line?: number;
  value?: string;
  memoryBytes?: number;
  durationMs: number;
}>;

type Circumstances = SandboxLimits &
  Readonly<{ stdoutTruncated: boolean; printedBytesMax: number }>;

export function messageOf(
  code: SandboxReason['code'],
  ended: Ended,
  { timeMs, memoryBytes, outputBytes, printedBytesMax, stdoutTruncated }: Circumstances,
): string {
  const thrown = [ended.name, ended.message].filter((part) => part).join(': ');
  const at = ended.line === undefined ? '' : ` (line ${ended.line})`;
  switch (code) {
    case 'time':
      return `The code ran longer than ${timeMs} ms and was stopped.`;
    case 'memory':
      return `The code needed more than ${memoryBytes} bytes of memory${at} and was stopped.`;
    case 'stack':
      return `The code nested calls or data too deeply${at} and was stopped.`;
    case 'output':
      return stdoutTruncated
        ? `The code printed more than ${printedBytesMax} bytes and was stopped.`
        : `The code returned more than ${outputBytes} bytes.`;
    case 'aborted':
      return 'The run was cancelled.';
    case 'syntax':
      return `The code cannot be parsed${at}: ${thrown}.`;
    case 'threw':
      return `The code threw${at}: ${thrown}`;
    case 'not-json':
      return `The result is not JSON: ${ended.message ?? 'it has no JSON text'}.`;
    case 'lost':
      return `The sandbox broke: ${thrown || 'its thread ended'}.`;
  }
}
