import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client';
import { createEventTable, type EventTable } from '../../services/event-store/clickhouse.ts';
import { migrate } from '../../services/event-store/migrations.ts';
import { quietClient, startEmbeddedClickHouse } from './embedded-clickhouse.ts';

/**
 * The ClickHouse that contract tests are held against: the server that LONGREIN_CLICKHOUSE_URL
 * names, else an embedded engine of their own. Each has a database of its own on it.
 */
export class ClickHouseUnderTest {
  readonly url: string;
  readonly database = `contract_${randomUUID().replaceAll('-', '')}`;
  readonly client: ClickHouseClient;
  readonly gzipClient: ClickHouseClient;
  readonly #stop: () => Promise<void>;

  private constructor(url: string, stop: () => Promise<void>) {
    this.url = url;
    this.client = quietClient(url);
    this.gzipClient = quietClient(url, { compression: { request: true, response: true } });
    this.#stop = stop;
  }

  static async open(): Promise<ClickHouseUnderTest> {
    const given = process.env.LONGREIN_CLICKHOUSE_URL;
    const server =
      given === undefined
        ? await ClickHouseUnderTest.#embedded()
        : new ClickHouseUnderTest(given, async () => undefined);
    await server.client.command({ query: `CREATE DATABASE ${server.database}` });
    return server;
  }

  static async #embedded(): Promise<ClickHouseUnderTest> {
    const engine = await startEmbeddedClickHouse();
    return new ClickHouseUnderTest(engine.url, async () => {
      await engine.stop();
      rmSync(engine.directory, { recursive: true });
    });
  }

  /** The table of events, with the schema of this release; in the database that its migrations name. */
  async eventTable(): Promise<EventTable> {
    await migrate(this.client, { info: () => undefined });
    return createEventTable(this.client);
  }

  async close(): Promise<void> {
    await this.client.command({ query: `DROP DATABASE ${this.database} SYNC` });
    await Promise.all([this.client.close(), this.gzipClient.close()]);
    await this.#stop();
  }

  async rows<T = Record<string, unknown>>(
    query: string,
    options: Omit<Parameters<ClickHouseClient['query']>[0], 'query' | 'format'> = {},
  ): Promise<readonly T[]> {
    const result = await this.client.query({ ...options, query, format: 'JSONEachRow' });
    return result.json<T>();
  }

  /** A statement as a plain request, without the client. */
  post(statement: string, parameters: Readonly<Record<string, string>> = {}): Promise<Response> {
    const target = new URL(this.url);
    for (const [name, value] of Object.entries(parameters)) target.searchParams.set(name, value);
    return fetch(target, { method: 'POST', body: statement });
  }
}

/** The error that the work ends with, as the client shows errors of the database. */
export async function failure(work: () => Promise<unknown>): Promise<ClickHouseError> {
  try {
    await work();
  } catch (thrown) {
    if (thrown instanceof ClickHouseError) return thrown;
    throw thrown;
  }
  throw new Error('It did not fail');
}
