import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LongreinError, toError } from '../../../services/chassis/errors.ts';
import { BodyReader } from './body.ts';
import { identify } from './caller.ts';
import type { EngineConfig } from './config.ts';
import { Engine } from './engine.ts';
import { statementSettings } from './engine-file.ts';
import { exception, toException } from './exception.ts';
import { check, prepare } from './prepare.ts';
import { readRequest, type StatementRequest } from './request.ts';
import { open, send, sendException } from './response.ts';
import { run } from './run.ts';
import { Slots } from './slots.ts';

/**
 * The ClickHouse HTTP interface over the engine in this process, on 127.0.0.1 only. Stateless:
 * `session_id` is taken and ignored, each request has a session of its own.
 */
export class ClickHouseServer {
  readonly #config: EngineConfig;
  readonly #engine: Engine;
  readonly #slots: Slots;
  readonly #bodies: BodyReader;
  readonly #settings: Readonly<Record<string, string>>;
  readonly #http: Server;
  readonly #running = new Set<Promise<void>>();
  #stopped: Promise<void> | undefined;

  private constructor(config: EngineConfig) {
    this.#config = config;
    this.#engine = Engine.open(config);
    this.#slots = new Slots(config);
    this.#bodies = new BodyReader(config);
    this.#settings = statementSettings(config);
    this.#http = createServer({ keepAliveTimeout: 10_000 }, (request, response) => {
      const done = this.#serve(request, response).finally(() => this.#running.delete(done));
      this.#running.add(done);
    });
  }

  /**
   * Opens the data and listens. Throws `CLICKHOUSE_DIRECTORY_IN_USE`, `CLICKHOUSE_OPEN_FAILED`,
   * `CLICKHOUSE_PORT_TAKEN`.
   */
  static async start(config: EngineConfig): Promise<ClickHouseServer> {
    const server = new ClickHouseServer(config);
    try {
      await listen(server.#http, config.port);
      return server;
    } catch (thrown) {
      await server.#engine.close();
      throw thrown;
    }
  }

  get port(): number {
    return (this.#http.address() as AddressInfo).port;
  }

  /**
   * Takes no more requests, lets the running ones end (up to `stopMs`), closes the engine. May be
   * called again.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#http.close();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, this.#config.stopMs);
    });
    await Promise.race([Promise.allSettled([...this.#running]), late]);
    clearTimeout(timer);
    this.#http.closeAllConnections();
    if (this.#running.size === 0) await this.#engine.close();
  }

  /** Never rejects. */
  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const tag = open(response);
    try {
      await this.#answer(request, response, tag);
    } catch (thrown) {
      if (response.headersSent) response.destroy();
      // It fails only if the caller is gone.
      else await sendException(response, toException(thrown)).catch(() => response.destroy());
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse, tag: string): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
    if (pathname === '/ping' || pathname === '/replicas_status') {
      response.end('Ok.\n');
      return;
    }
    if (this.#stopped !== undefined) {
      response.setHeader('Connection', 'close');
      throw exception(236, 'The embedded engine is stopping; try again later');
    }
    const caller = identify(request, searchParams, this.#config);
    const asked = await readRequest(request, searchParams, { caller, bodies: this.#bodies });
    response.setHeader('X-ClickHouse-Query-Id', asked.queryId);
    try {
      check(this.#engine, asked);
      await this.#execute(asked, response, tag);
    } finally {
      this.#bodies.release(asked.bodyBytes);
    }
  }

  async #execute(asked: StatementRequest, response: ServerResponse, tag: string): Promise<void> {
    await this.#slots.take();
    try {
      // The caller may have gone while it waited for its turn.
      if (response.destroyed) return;
      const session = this.#engine.session();
      try {
        await prepare(session, asked, this.#settings);
        await send(response, await run(session, asked), { request: asked, tag });
      } finally {
        session.close();
      }
    } finally {
      this.#slots.release();
    }
  }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => {
      const message = `Port ${port} cannot be opened: ${toError(cause).message}`;
      const fix =
        'Free the port, or set LONGREIN_CLICKHOUSE_PORT to another one (0 takes a free one).';
      reject(new LongreinError('CLICKHOUSE_PORT_TAKEN', message, { fix, cause }));
    });
    server.listen(port, '127.0.0.1', resolve);
  });
}
