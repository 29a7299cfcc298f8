import { describe, expect, it } from 'vitest';
import { checkNode, checkStack } from '../../../../deploy/local/doctor.ts';

describe('checkNode', () => {
  it.each([
    ['20.19.0', true],
    ['22.0.0', true],
    ['20.18.3', false],
    ['18.20.1', false],
  ])('judges %s as %s', (version, ok) => {
    expect(checkNode(version).ok).toBe(ok);
  });
});

describe('checkStack', () => {
  const nothing = {
    stateDir: '/s',
    brokers: undefined,
    registry: undefined,
    clickhouse: undefined,
  };

  it('is content when nothing is up', () => {
    const checks = checkStack({ ...nothing, up: false, processes: [] });
    expect(checks.map(({ name, ok }) => [name, ok])).toEqual([['stack', true]]);
  });

  it('names the silent address and the ended process, each with what to do', () => {
    const process = { name: 'broker', pid: 7, startedAtMark: 'm', port: 9001, logFile: '/s/b.log' };
    const brokers = {
      address: '127.0.0.1:9001',
      ok: false,
      reason: '127.0.0.1:9001: ECONNREFUSED',
    };
    const processes = [{ ...process, alive: false }];
    expect(checkStack({ ...nothing, up: true, brokers, processes })).toEqual([
      {
        name: 'broker',
        ok: false,
        detail: 'not reachable: 127.0.0.1:9001: ECONNREFUSED',
        fix: 'Run `longrein up`, or correct LONGREIN_BROKERS if you set it.',
      },
      {
        name: 'process broker',
        ok: false,
        detail: 'pid 7, port 9001 has ended',
        fix: 'Run `longrein up`; why: /s/b.log.',
      },
    ]);
  });

  it('names the container of a process, and why one that runs may not be reached', () => {
    const container = { id: 'f'.repeat(64), name: 'longrein-a-broker', environment: {} };
    const record = { name: 'broker', pid: 7, startedAtMark: 'm', port: 9001, logFile: '/s/b.log' };
    const brokers = { address: '127.0.0.1:9001', ok: false, reason: 'ECONNREFUSED' };
    const processes = [{ ...record, container, alive: true }];
    const [broker, process] = checkStack({ ...nothing, up: true, brokers, processes });
    expect(broker?.fix).toContain('Enable host networking');
    expect(process?.detail).toBe('pid 7, container longrein-a-broker, port 9001');
  });
});
