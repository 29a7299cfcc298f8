import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPartition } from '../../replay-tools/read/partition-reader.ts';
import { topics } from '../../schemas/topics.ts';
import { packageRoot } from '../../services/chassis/config/package-root.ts';
import { createKafkaLog } from '../../services/chassis/log/kafka/kafka-log.ts';
import { sessionId } from '../../services/chassis/protocol/ids.ts';
import { type CliRun, cliIn } from '../support/cli-process.ts';
import { temporaryCatalog } from '../support/document-files.ts';
import { GoalDesk, type Result } from '../support/goal-desk.ts';
import { KeyRing, newKey } from '../support/key-ring.ts';
import type { LiveStack } from '../support/live-stack.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';

/**
 * Secrets and personal data are planted wherever they come in, in a stack of its own, and looked for wherever anything is
 * kept: a tenant with keys and one without run the same plan. Then both are erased.
 */

const planted = (prefix: string): string => `${prefix}${randomBytes(12).toString('hex')}`;
const password = planted('pw-');
/** By the variable that holds it. Names that say nothing are there on purpose. */
const secrets: Readonly<Record<string, string>> = {
  PLANTED_API_KEY: planted('sk-planted-'),
  PLANTED_BEARER_TOKEN: planted('tok_'),
  PLANTED_PASSWORD: planted('hunter-'),
  PLANTED_ADDRESS: `postgres://shop:${password}@db.example:5432/shop`,
  PLANTED_HEADER_AUTH: `Bearer ${planted('hdr_')}`,
};
const providerKey = planted('sk-provider-');
const needles = [...Object.values(secrets), password, providerKey].flatMap((secret) => [
  ...new Set([secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64')]),
]);
const email = `elfriede.${randomBytes(6).toString('hex')}@people.example`;
const person = `Elfriede ${email} of 12 Nowhere Lane`;

const variables = Object.keys(secrets).join(', ');
const files = {
  'pools.yaml': '- { name: planted, description: Works. }\n',
  'models.yaml': 'asker: [refusing/small, willing/small]\n',
  'providers.yaml': '',
  'mcp-servers.yaml': `leaky: { package: unruly-server, bin: unruly-server, env: [${variables}] }\n`,
  'tools/planted.leak.yaml': `name: planted.leak
version: 1.0.0
description: Tells all variables that its server has.
category: test
risk: low
sideEffects: read
runner: { kind: mcp, server: leaky, tool: variables }
roles: [tester]
timeoutMs: 8000
inputSchema: { type: object }
`,
  'agents/leaker.yaml': `kind: procedure
name: leaker
version: 1.0.0
description: Asks for what it must not get.
role: tester
tools: [planted.leak]
steps:
  - { id: leak, tool: planted.leak, arguments: { about: =input } }
output: { about: =input, leaked: =steps.leak }
`,
  'agents/asker.yaml': `kind: model
name: asker
version: 1.0.0
description: Asks a model.
role: tester
model: asker
prompt: Answer what is asked.
`,
  'agents/patient.yaml': `kind: procedure
name: patient
version: 1.0.0
description: Waits.
role: tester
tools: [test.wait]
steps:
  - { id: wait, tool: test.wait, arguments: { waitMs: 500000 } }
output: done
`,
  'plans/patient.yaml': `name: patient
version: 1.0.0
description: Waits.
tasks:
  - { id: wait, pool: planted, agent: patient, input: null }
output: { kind: collect }
`,
  'plans/planted.yaml': `name: planted
version: 1.0.0
description: A call that leaks, and a question.
inputs:
  about: { type: string, description: Whom it is about. }
tasks:
  - { id: leak, pool: planted, agent: leaker, input: =inputs.about }
  - { id: ask, pool: planted, agent: asker, input: =inputs.about }
output: { kind: collect }
`,
};

let ring: KeyRing;
let server: ModelServer;
let catalog: ReturnType<typeof temporaryCatalog>;
let parent: string;
let stateDir: string;
let stack: LiveStack;
let desk: GoalDesk;
let cli: (...argv: readonly string[]) => Promise<CliRun>;
const results = {} as Record<'acme' | 'plain', Result>;

async function json(...argv: string[]): Promise<{ code: number | null; document: never }> {
  const { code, stdout, stderr } = await cli(...argv, '--json');
  try {
    return { code, document: JSON.parse(stdout) as never };
  } catch {
    throw new Error(`not one JSON document: ${stdout}\n${stderr}`);
  }
}

const answered = (text: string) => ({
  id: 'a',
  object: 'chat.completion',
  created: 1,
  model: 'small',
  choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 },
});

async function submit(tenant: string): Promise<Result> {
  const refused = {
    error: { message: `Incorrect API key provided: ${providerKey}. Bearer ${providerKey}` },
  };
  server.answer({ status: 401, body: refused });
  server.answer({ body: answered(`${person} lives there.`) });
  const about = `${person} ${'x'.repeat(70_000)}`;
  const goal = { plan: 'planted', tenant, goal: `Find ${person}.`, inputs: { about } };
  return await desk.result(await desk.submit(goal));
}

beforeAll(async () => {
  ring = new KeyRing({ acme: { current: 'k1', keys: { k1: newKey() } } });
  server = await startModelServer();
  const providers = ['refusing', 'willing']
    .map(
      (name) =>
        `  ${name}: { baseUrl: '${server.url}/v1', key: { env: PROVIDER_KEY }, stream: false }`,
    )
    .join('\n');
  catalog = temporaryCatalog({ ...files, 'providers.yaml': `providers:\n${providers}\n` });
  parent = mkdtempSync(join(tmpdir(), 'longrein-contents-'));
  stateDir = join(parent, 'state');
  cli = cliIn(stateDir, {
    ...secrets,
    PROVIDER_KEY: providerKey,
    NODE_PATH: join(packageRoot, 'test/fixtures/packages'),
    LONGREIN_CATALOG: [catalog.path, join(packageRoot, 'test/fixtures/catalog')].join(','),
    LONGREIN_PROVIDERS_FILE: join(catalog.path, 'providers.yaml'),
    LONGREIN_TENANT_KEYS_FILE: ring.file,
    LONGREIN_SESSION_KEYS_DIR: ring.sessions,
    LONGREIN_LOG_LEVEL: 'debug',
  });
  const { document } = await json('up');
  expect(document).not.toHaveProperty('error');
  const found = JSON.parse(readFileSync(join(stateDir, 'stack.json'), 'utf8'));
  stack = { ...found, blobDir: join(stateDir, 'blobs') } as LiveStack;
  desk = await GoalDesk.open(stack);
  results.acme = await submit('acme');
  results.plain = await submit('plain');
  await stored();
});

afterAll(async () => {
  await desk?.close();
  await cli('down', '--wipe');
  await server?.stop();
  catalog?.remove();
  ring?.remove();
  rmSync(parent, { recursive: true, force: true });
});

/** Bytes of every record of these topics, keys and headers with them. */
async function bytesOf(wanted: (topic: string) => boolean): Promise<string> {
  const log = createKafkaLog({ brokers: stack.brokers, clientId: 'search' });
  const all: string[] = [];
  try {
    for (const { name } of topics.filter((one) => wanted(one.name)))
      for (const [partition, bounds] of await log.bounds(name))
        for await (const record of readPartition(log, { topic: name, partition }, bounds))
          all.push(
            record.key,
            JSON.stringify(record.headers),
            Buffer.from(record.value ?? []).toString(),
          );
  } finally {
    await log.close();
  }
  return all.join('\n');
}

async function clickhouse(query: string): Promise<string> {
  const { username, password: token, origin } = new URL(stack.clickhouseUrl);
  const headers = { authorization: `Basic ${btoa(`${username}:${decodeURIComponent(token)}`)}` };
  const answer = await fetch(origin, { method: 'POST', headers, body: query });
  return (await answer.text()).trim();
}

/** Waits until the ends of both sessions and of their goals' logs are in ClickHouse. */
async function stored(): Promise<void> {
  const names = Object.values(results).flatMap(({ session }) => [session, `goal_${session}`]);
  const query = `SELECT count() FROM longrein.events
    WHERE type = 'session.closed' AND session_id IN (${names.map((name) => `'${name}'`).join(',')})`;
  const untilMs = performance.now() + 60_000;
  while (Number(await clickhouse(query)) < names.length) {
    if (performance.now() > untilMs) throw new Error('the event store did not store the sessions');
    await sleep(100);
  }
}

/** Rows of any table that hold one of these texts in any column. */
async function rowsWith(texts: readonly string[]): Promise<number> {
  const tables = await clickhouse(
    "SELECT name FROM system.tables WHERE database = 'longrein' AND engine LIKE '%MergeTree'",
  );
  const list = texts.map((text) => `'${text}'`).join(',');
  let rows = 0;
  for (const table of tables.split('\n'))
    rows += Number(
      await clickhouse(
        `SELECT count() FROM longrein.${table} WHERE multiSearchAny(toString(tuple(*)), [${list}])`,
      ),
    );
  return rows;
}

function filesWith(directory: string, texts: readonly string[]): readonly string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => {
      const bytes = readFileSync(path, 'latin1');
      return texts.some((text) => bytes.includes(text));
    });
}

/** Data of broker and engine were asked for above, and change while they are read. */
const keptFilesWith = (texts: readonly string[]): readonly string[] =>
  readdirSync(stateDir, { withFileTypes: true })
    .filter(({ name }) => !['clickhouse', 'kafka'].includes(name))
    .flatMap((entry) => {
      const path = join(stateDir, entry.name);
      if (entry.isDirectory()) return filesWith(path, texts);
      const bytes = readFileSync(path, 'latin1');
      return texts.some((text) => bytes.includes(text)) ? [path] : [];
    });

const holds = (text: string): readonly string[] => needles.filter((one) => text.includes(one));

describe('what was planted', () => {
  it('went through the work: both tenants have a result, without a secret in it', () => {
    for (const result of Object.values(results)) {
      expect(result).toMatchObject({ status: 'completed' });
      const said = JSON.stringify(result.output);
      expect(said).toContain(person);
      for (const name of Object.keys(secrets)) expect(said).toContain(`[${name}]`);
    }
  });

  it('as a secret is in no topic, no table, no blob, no log and no other file of the stack', async () => {
    expect(holds(await bytesOf(() => true))).toEqual([]);
    expect(await rowsWith(needles)).toBe(0);
    expect(keptFilesWith(needles)).toEqual([]);
  });

  it('as personal data of a tenant with keys stands open in the public topics only', async () => {
    const own = await ownRecords(results.acme.session);
    expect(own).toContain('"sealed":"');
    expect(own).not.toContain(person);
    const rows = `SELECT count(), countIf(position(toString(tuple(*)), '${person}') > 0)
      FROM longrein.events WHERE tenant_id = 'acme' OR session_id LIKE '%${results.acme.session}'`;
    const [all, open] = (await clickhouse(rows)).split('\t').map(Number);
    expect(all).toBeGreaterThan(20);
    expect(open).toBe(0);
    expect(filesWith(join(stateDir, 'logs'), [person])).toEqual([]);
  });

  it('in an export is as it is in the log', async () => {
    const paths = { acme: join(parent, 'acme.jsonl'), plain: join(parent, 'plain.jsonl') };
    for (const tenant of ['acme', 'plain'] as const) {
      const out = ['--out', paths[tenant]];
      expect((await cli('replay', 'export', results[tenant].session, ...out)).code).toBe(0);
    }
    expect(readFileSync(paths.acme, 'utf8')).not.toContain(person);
    expect(readFileSync(paths.plain, 'utf8')).toContain(person);
    expect(holds(readFileSync(paths.plain, 'utf8'))).toEqual([]);
    expect((await cli('replay', 'import', paths.plain)).code).toBe(0);
  });

  it('is replayed with its key as ever', async () => {
    for (const source of ['kafka', 'clickhouse']) {
      const argv = ['replay', 'verify', results.acme.session, '--source', source];
      const { code, document } = await json(...argv);
      expect(document).toMatchObject({ identical: true, complete: true });
      expect(code).toBe(0);
    }
  });
});

/** All that the log holds of a session and its goal. */
async function ownRecords(session: string): Promise<string> {
  const text = await bytesOf((topic) => /sessions|keys/.test(topic));
  return text
    .split('\n')
    .filter((line) => line.includes(session))
    .join('\n');
}

describe('masks over personal data', () => {
  it('cover what a tenant without keys wrote, in the view of analysts', async () => {
    expect((await cli('masks', '--apply')).code).toBe(0);
    const query = `SELECT countIf(position(text, '[masked:email]') > 0), countIf(position(text, '${email}') > 0)
      FROM longrein.contents_masked WHERE session_id = '${results.plain.session}'`;
    const [covered, open] = (await clickhouse(query)).split('\t').map(Number);
    expect(covered).toBeGreaterThan(2);
    expect(open).toBe(0);
  });

  it('cover it in an export that is asked for so, which still fits together', async () => {
    const out = join(parent, 'masked.jsonl');
    const argv = ['replay', 'export', results.plain.session, '--masked', '--out', out];
    expect((await cli(...argv)).code).toBe(0);
    const text = readFileSync(out, 'utf8');
    expect(text).toContain('[masked:email]');
    expect(text).not.toContain(email);
    const { document } = await json('replay', 'verify', out);
    expect(document).toMatchObject({ identical: true, complete: false });
  });
});

type Step = { command: string; said: string[] };

/** The commands of a document's example, with what their answers hold. */
function exampleOf(path: string): readonly Step[] {
  const text = readFileSync(join(packageRoot, path), 'utf8');
  const block = /^```sh\n([\s\S]*?)^```$/m.exec(text)?.[1] ?? '';
  const steps: Step[] = [];
  for (const line of block.trim().split('\n')) {
    if (line.startsWith('longrein ')) steps.push({ command: line.slice(9), said: [] });
    else steps.at(-1)?.said.push(line.replace(/^#> /, ''));
  }
  expect(steps.length).toBeGreaterThan(5);
  return steps;
}

const erase = (...argv: string[]) => json('erase', ...argv, '--reason', 'a request', '--as', 'ann');

describe('longrein erase', () => {
  it('says what is wrong: nothing named, no reason, an unknown session, one that still runs', async () => {
    const codeOf = async (...argv: string[]): Promise<unknown> => {
      const { code, document } = await json('erase', ...argv);
      return [code, (document as { error: { code: string } }).error.code];
    };
    expect(await codeOf()).toEqual([2, 'USAGE']);
    expect(await codeOf('--session', results.plain.session)).toEqual([2, 'USAGE']);
    const reason = ['--reason', 'a request'];
    const unknown = `ses_${'0'.repeat(32)}`;
    expect(await codeOf('--session', unknown, ...reason)).toEqual([1, 'SESSION_UNKNOWN']);
    expect(await codeOf('--tenant', 'nobody', ...reason)).toEqual([1, 'TENANT_UNKNOWN']);
    const goalId = await desk.submit({ plan: 'patient', tenant: 'plain' });
    const running = ['--session', sessionId('plain', '', goalId), ...reason];
    let said: unknown;
    for (let tries = 0; tries < 20; tries++) {
      said = await codeOf(...running);
      if (JSON.stringify(said) !== '[1,"SESSION_UNKNOWN"]') break;
    }
    expect(said).toEqual([1, 'SESSION_RUNNING']);
  });

  it('does what the guide says, on a session whose tenant has keys', async () => {
    for (const { command, said } of exampleOf('docs/content-and-erasure.md')) {
      const filled = command
        .replaceAll('$SESSION', results.acme.session)
        .replaceAll('$OUT', parent);
      const argv = [...filled.matchAll(/"([^"]*)"|(\S+)/g)].map(
        ([, quoted, word]) => quoted ?? word,
      );
      const { code, stdout, stderr } = await cli(...(argv as string[]));
      expect({ command, code, stderr }).toMatchObject({ code: 0 });
      for (const text of said) expect(stdout).toContain(text);
    }
    expect(await ownRecords(results.acme.session)).toContain('"session.erased"');
  });

  it('drops a tenant with keys: accounts and hashes stay, nothing else can be read', async () => {
    const { code, document } = await erase('--tenant', 'acme', '--exports', parent);
    const [one] = (document as { erased: object[] }).erased;
    const { session } = results.acme;
    expect(one).toMatchObject({ session, sealed: true, record: 'there before' });
    expect(one).toMatchObject({ reason: 'request 4711 of the data subject', rows: 0, blobs: 0 });
    expect(code).toBe(0);
    const verified = await json('replay', 'verify', results.acme.session);
    expect(verified.document).toMatchObject({ identical: true, complete: false, status: 'closed' });
    expect(JSON.stringify(verified.document)).toContain('had the contents erased');
  });

  it('erases a session that was never sealed from rows, blobs and files, and says what stays', async () => {
    const { session } = results.plain;
    const cost = `SELECT sum(cost_nano_usd), count(), uniqExact(record_id) FROM longrein.events WHERE session_id = '${session}' AND type != 'session.erased'`;
    const before = await clickhouse(cost);
    const { code, document } = await erase('--session', session, '--exports', parent);
    const { erased, stays } = document as { erased: object[]; stays: string[] };
    expect(erased).toMatchObject([{ session, sealed: false, files: 3, record: 'written' }]);
    expect(stays.join()).toContain('stays in the log');
    expect(code).toBe(0);
    expect(await rowsWith([person])).toBe(0);
    expect(filesWith(join(stateDir, 'blobs'), [person])).toEqual([]);
    expect(await clickhouse(cost)).toBe(before);
    for (const source of ['kafka', 'clickhouse']) {
      const verified = await json('replay', 'verify', session, '--source', source);
      expect(verified.document).toMatchObject({ identical: true, complete: false });
    }
  });

  it('is harmless a second time, and the first erasure stands', async () => {
    const again = await json('erase', '--session', results.plain.session, '--reason', 'once more');
    expect(again.code).toBe(0);
    const nothing = { by: 'ann', reason: 'a request', blobs: 0, rows: 0, files: 0 };
    const [one] = (again.document as { erased: object[] }).erased;
    expect(one).toMatchObject({ ...nothing, record: 'there before' });
  });
});
