/** The configuration of a local broker as text: small, quick, on loopback only. Pure. */

export interface BrokerNode {
  readonly id: number;
  readonly brokerPort: number;
  readonly controllerPort: number;
  /** A listener apart for clients that reach the broker by way of another port, such as a proxy's. */
  readonly outside?: { readonly port: number; readonly advertisedPort: number };
}

export interface BrokerPropertiesOptions {
  readonly self: BrokerNode;
  /** All nodes of the cluster with `self`; one node is a cluster too. */
  readonly nodes: readonly BrokerNode[];
  /**
   * Data directory relative to the working directory of the broker: absolute paths may hold commas.
   */
  readonly dataDir: string;
}

const host = '127.0.0.1';

/** server.properties of one node that is broker and controller. */
export function brokerProperties(options: BrokerPropertiesOptions): string {
  const several = options.nodes.length > 1 ? balance : [];
  const lines = [...addresses(options), ...copies(options.nodes.length), ...manners, ...several];
  return `${lines.join('\n')}\n`;
}

function addresses({ self, nodes, dataDir }: BrokerPropertiesOptions): string[] {
  const client = `PLAINTEXT://${host}:${self.brokerPort}`;
  const voters = nodes.map((node) => `${node.id}@${host}:${node.controllerPort}`).join(',');
  const { outside } = self;
  const listeners = [client, `CONTROLLER://${host}:${self.controllerPort}`];
  const advertised = [client];
  if (outside !== undefined) {
    listeners.push(`OUTSIDE://${host}:${outside.port}`);
    advertised.push(`OUTSIDE://${host}:${outside.advertisedPort}`);
  }
  return [
    'process.roles=broker,controller',
    `node.id=${self.id}`,
    `controller.quorum.voters=${voters}`,
    `listeners=${listeners.join(',')}`,
    `advertised.listeners=${advertised.join(',')}`,
    'controller.listener.names=CONTROLLER',
    'inter.broker.listener.name=PLAINTEXT',
    'listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,OUTSIDE:PLAINTEXT',
    `log.dirs=${dataDir}`,
  ];
}

function copies(nodeCount: number): string[] {
  const replicas = Math.min(3, nodeCount);
  const insync = Math.max(1, replicas - 1);
  return [
    `default.replication.factor=${replicas}`,
    `offsets.topic.replication.factor=${replicas}`,
    'offsets.topic.num.partitions=1',
    `transaction.state.log.replication.factor=${replicas}`,
    `transaction.state.log.min.isr=${insync}`,
    'transaction.state.log.num.partitions=1',
    `share.coordinator.state.topic.replication.factor=${replicas}`,
    `share.coordinator.state.topic.min.isr=${insync}`,
    'share.coordinator.state.topic.num.partitions=1',
  ];
}

const manners = [
  'auto.create.topics.enable=false',
  // Topics say themselves how long they keep things. Those of the registry do not: its schemas must
  // stay.
  'log.retention.ms=-1',
  'group.initial.rebalance.delay.ms=0',
  'num.network.threads=2',
  'num.io.threads=2',
  'background.threads=2',
  // On the heap, 128 MB by default.
  'log.cleaner.dedupe.buffer.size=4194304',
  // A broker that signs off is let in again at once. One that was killed must wait until its
  // session is over: 5 s instead of 9 s. Shorter, and a busy machine would lose its only broker for
  // a moment.
  'controlled.shutdown.enable=true',
  'broker.session.timeout.ms=5000',
  'broker.heartbeat.interval.ms=500',
];

// A broker that comes back gets its partitions back within seconds, not after the usual five minutes.
const balance = ['leader.imbalance.check.interval.seconds=10'];
