/** An MCP server that the tool runner starts as a child process and talks to over stdio. */
export type McpServerDefinition = Readonly<{
  name: string;
  /** The npm package that holds it; installed beside this program. */
  package: string;
  /** Which of the package's programs to run. */
  bin: string;
  /** `${workspace}` stands for the configured workspace directory. */
  args: readonly string[];
  /** Names of environment variables that the server may see; no others are passed on. */
  env: readonly string[];
  cwd?: string;
  startTimeoutMs: number;
  /** Whether its hints about its own tools count. */
  trusted: boolean;
}>;
