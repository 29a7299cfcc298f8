import {
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

/** What becomes of requests on their way to ClickHouse. */
export type Weather =
  /** As they come. */
  | 'fair'
  /** Connections are cut. */
  | 'away'
  /** Inserts are refused: there is no space left on the disk. */
  | 'full'
  /** Inserts are written, and the answer says that there was no space for them. */
  | 'full-after';

const noSpace =
  'Code: 243. DB::Exception: Cannot reserve 1.00 MiB, not enough space. (NOT_ENOUGH_SPACE)\n';

/** Stands between the event store and ClickHouse, and makes the weather. */
export class ClickHouseProxy {
  weather: Weather = 'fair';
  /** Inserts that were met by each weather. */
  readonly met: Record<Weather, number> = { fair: 0, away: 0, full: 0, 'full-after': 0 };
  private readonly server: Server;
  private readonly target: URL;

  private constructor(target: URL) {
    this.target = target;
    this.server = createServer((incoming, outgoing) => this.pass(incoming, outgoing));
  }

  static async start(url: string): Promise<ClickHouseProxy> {
    const proxy = new ClickHouseProxy(new URL(url));
    await new Promise<void>((resolve) => {
      proxy.server.listen(0, '127.0.0.1', resolve);
    });
    return proxy;
  }

  /** The address of ClickHouse through here, with the user and the password that it was given with. */
  get url(): string {
    const url = new URL(this.target);
    url.hostname = '127.0.0.1';
    url.port = String((this.server.address() as AddressInfo).port);
    return url.href;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
  }

  private pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const insert = /INSERT/.test(decodeURIComponent(incoming.url ?? ''));
    const { weather } = this;
    if (insert) this.met[weather] += 1;
    if (weather === 'away') {
      incoming.socket.destroy();
      return;
    }
    if (insert && weather === 'full') {
      incoming.resume().once('end', () => refuse(outgoing));
      return;
    }
    const { method, headers, url: path } = incoming;
    const { hostname, port } = this.target;
    const onward = request({ hostname, port, path, method, headers }, (answer) => {
      if (insert && weather === 'full-after') answer.resume().once('end', () => refuse(outgoing));
      else {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
      }
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  }
}

function refuse(outgoing: ServerResponse): void {
  outgoing.writeHead(500, { 'x-clickhouse-exception-code': '243', 'content-type': 'text/plain' });
  outgoing.end(noSpace);
}
