import { connect, createServer, type Server, type Socket } from 'node:net';
import {
  correlationOfAnswer,
  correlationOfRequest,
  emptyProduceAnswer,
  FrameCutter,
  isProduce,
  partitionsOfProduce,
  withoutLastPartition,
} from './kafka-frame.ts';

/**
 * What happens to a produce request:
 * `cut`: the broker carries it out, and the connection ends before the client hears of it;
 * `omit`: one of its partitions never gets to the broker, and is missing in the answer;
 * `hold`: it does not get to the broker, and the client waits until `release` ends the connection.
 */
export type ProxyFault = 'cut' | 'omit' | 'hold';

type Armed = Readonly<{ fault: ProxyFault; meant: (partition: string) => boolean }>;

/** A proxy in front of one broker that spoils produce requests on demand, one for each `arm`. */
export class FaultProxy {
  readonly port: number;
  /** Faults that struck, so far. */
  readonly struck: ProxyFault[] = [];
  private readonly server: Server;
  private readonly links = new Set<Link>();
  private readonly armed: Armed[] = [];

  private constructor(server: Server, port: number) {
    this.server = server;
    this.port = port;
  }

  /** Listens on `port`; whoever connects is put through to `brokerPort`. */
  static async open(port: number, brokerPort: number): Promise<FaultProxy> {
    const server = createServer({ noDelay: true });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host: '127.0.0.1', port }, resolve);
    });
    const proxy = new FaultProxy(server, port);
    server.on('connection', (client) => proxy.link(client, brokerPort));
    return proxy;
  }

  private link(client: Socket, brokerPort: number): void {
    const link = new Link(client, brokerPort, (request) => this.faultFor(request));
    this.links.add(link);
    client.once('close', () => this.links.delete(link));
  }

  /** The next produce request meets this whose last partition, `topic/number`, is meant: it is the one to be omitted. */
  arm(fault: ProxyFault, meant: (partition: string) => boolean = () => true): void {
    this.armed.push({ fault, meant });
  }

  /** Whether an armed fault still waits for its request. */
  get waiting(): boolean {
    return this.armed.length > 0;
  }

  disarm(): void {
    this.armed.length = 0;
  }

  private faultFor(request: Buffer): ProxyFault | undefined {
    const [next] = this.armed;
    if (next === undefined || !isProduce(request)) return undefined;
    if (!next.meant(partitionsOfProduce(request).at(-1) ?? '')) return undefined;
    this.armed.shift();
    this.struck.push(next.fault);
    return next.fault;
  }

  /** Ends the connections whose requests are held. */
  release(): void {
    for (const link of this.links) link.release();
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const link of this.links) link.end();
    await closed;
  }
}

/** One client's connection and its counterpart to the broker. */
class Link {
  private readonly client: Socket;
  private readonly broker: Socket;
  private readonly requests = new FrameCutter();
  private readonly answers = new FrameCutter();
  private readonly faultFor: (request: Buffer) => ProxyFault | undefined;
  private cutAt: number | undefined;
  private held = false;

  constructor(
    client: Socket,
    brokerPort: number,
    faultFor: (request: Buffer) => ProxyFault | undefined,
  ) {
    this.client = client;
    this.faultFor = faultFor;
    this.broker = connect({ host: '127.0.0.1', port: brokerPort, noDelay: true });
    client.on('data', (piece: Buffer) => this.requests.push(piece).forEach(this.request));
    this.broker.on('data', (piece: Buffer) => this.answers.push(piece).forEach(this.answer));
    for (const socket of [client, this.broker]) {
      socket.on('error', () => this.end());
      socket.on('close', () => this.end());
    }
  }

  private readonly request = (request: Buffer): void => {
    if (this.held) return;
    const fault = this.faultFor(request);
    if (fault === 'omit') {
      this.omit(request);
      return;
    }
    this.held = fault === 'hold';
    if (fault === 'cut') this.cutAt = correlationOfRequest(request);
    if (!this.held) this.broker.write(request);
  };

  private omit(request: Buffer): void {
    const rest = withoutLastPartition(request);
    if (rest === undefined) this.client.write(emptyProduceAnswer(request));
    else this.broker.write(rest);
  }

  private readonly answer = (answer: Buffer): void => {
    if (correlationOfAnswer(answer) === this.cutAt) this.end();
    else this.client.write(answer);
  };

  release(): void {
    if (this.held) this.end();
  }

  end(): void {
    this.client.destroy();
    this.broker.destroy();
  }
}
