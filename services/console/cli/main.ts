/** The process of the command line: arguments and streams in, an exit code out. */
import { processEnvironment } from './config.ts';
import { runCli } from './program.ts';
import { processTerminal } from './terminal.ts';

process.exitCode = await runCli(process.argv.slice(2), {
  environment: processEnvironment,
  workingDir: process.cwd(),
  terminal: processTerminal(processEnvironment),
});
