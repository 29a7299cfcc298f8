import { describe, expect, it } from 'vitest';
import { newClusterId } from '../../../../deploy/local/broker.ts';
import { brokerProperties } from '../../../../deploy/local/broker-properties.ts';

function propertiesOf(text: string): Record<string, string> {
  const lines = text.trim().split('\n');
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
}

const one = { id: 1, brokerPort: 9001, controllerPort: 9002 };

describe('brokerProperties', () => {
  it('listens on loopback only', () => {
    const text = brokerProperties({ self: one, nodes: [one], dataDir: 'data' });
    const addresses = text.match(/:\/\/[^,\n]+/g) ?? [];
    expect(addresses.length).toBeGreaterThan(2);
    for (const address of addresses) expect(address).toMatch(/^:\/\/127\.0\.0\.1:/);
  });

  it('keeps one copy on one node and never lets a topic expire by default', () => {
    const read = propertiesOf(brokerProperties({ self: one, nodes: [one], dataDir: 'data' }));
    expect(read).toMatchObject({
      'controller.quorum.voters': '1@127.0.0.1:9002',
      'offsets.topic.replication.factor': '1',
      'log.retention.ms': '-1',
      'log.dirs': 'data',
    });
  });

  it('keeps three copies on three nodes, all of which vote', () => {
    const nodes = [1, 2, 3].map((id) => ({ id, brokerPort: 9000 + id, controllerPort: 9100 + id }));
    const read = propertiesOf(brokerProperties({ self: nodes[1] ?? one, nodes, dataDir: 'data' }));
    expect(read).toMatchObject({
      'node.id': '2',
      'controller.quorum.voters': '1@127.0.0.1:9101,2@127.0.0.1:9102,3@127.0.0.1:9103',
      'default.replication.factor': '3',
      'transaction.state.log.min.isr': '2',
    });
  });
});

describe('newClusterId', () => {
  it('is 16 bytes in base64url and does not read as an option', () => {
    for (let count = 0; count < 500; count += 1) {
      expect(newClusterId()).toMatch(/^[A-Za-z0-9_][A-Za-z0-9_-]{21}$/);
    }
  });
});
