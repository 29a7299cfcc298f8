// Source: pydantic-ai 5875: a cached list of tools made history unreplayable on a cold process.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { packageRoot } from '../../services/chassis/config/package-root.ts';
import { filesOfDocument, temporaryCatalog } from '../support/document-files.ts';
import { GoalDesk } from '../support/goal-desk.ts';
import { LiveHost } from '../support/live-hosts.ts';
import { examples, stackUnderTest } from '../support/live-stack.ts';
import { SessionLogs } from '../support/session-log.ts';

const stack = stackUnderTest();
const directory = temporaryCatalog(filesOfDocument('docs/agents.md'));
const cli = join(packageRoot, 'dist/services/console/cli/main.js');
let session: string;

/** The second session finds the MCP server running and its tools known; then the host goes, and the server with it. */
beforeAll(async () => {
  const host = await new LiveHost({ stack, catalog: [examples, directory.path] }).ready();
  const desk = await GoalDesk.open(stack);
  const logs = await SessionLogs.open(stack);
  for (let run = 0; run < 2; run++) {
    const result = await desk.result(await desk.submit({ plan: 'what-is-it' }));
    expect(result.status).toBe('completed');
    await logs.closed(result.session);
    session = result.session;
  }
  await logs.close();
  await desk.close();
  await host.stop();
  await host.remove();
});

afterAll(() => directory.remove());

test('a session that was recorded warm is verified by a fresh process, without a catalog and with every MCP server off', async () => {
  const nothing = temporaryCatalog({});
  const env = {
    PATH: process.env['PATH'],
    LONGREIN_BROKERS: stack.brokers.join(','),
    LONGREIN_REGISTRY_URL: stack.registryUrl,
    LONGREIN_CLICKHOUSE_URL: stack.clickhouseUrl,
    LONGREIN_BLOB_DIR: stack.blobDir,
    LONGREIN_CATALOG: nothing.path,
    LONGREIN_STATE_DIR: join(nothing.path, 'state'),
  };
  const run = promisify(execFile)(process.execPath, [cli, 'replay', 'verify', session, '--json'], {
    env,
  });
  const { stdout } = await run.finally(() => nothing.remove());
  const report = JSON.parse(stdout);
  expect(report).toMatchObject({ identical: true });
  expect(report.counts.decisions).toBeGreaterThan(10);
  expect(report.counts.hashOnly ?? 0).toBe(0);
});
