/** The process of the command line: arguments and streams in, an exit code out. */
import { processEnvironment } from './config.ts';
import { runCli } from './program.ts';
import { processTerminal } from './terminal.ts';

process.exitCode = await runCli(process.argv.slice(2), {
  environment: processEnvironment,
  workingDir: process.cwd(),
  terminal: processTerminal(processEnvironment),
});

const lingerMs = 100;

/** A connection that something forgot to close must not keep a command that is done. */
function endSoon(): void {
  const isWritten = process.stdout.writableLength === 0 && process.stderr.writableLength === 0;
  setTimeout(isWritten ? () => process.exit() : endSoon, lingerMs).unref();
}
endSoon();
