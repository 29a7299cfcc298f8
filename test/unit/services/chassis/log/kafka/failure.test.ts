import { expect, test } from 'vitest';
import {
  brokerSilent,
  connectionLost,
} from '../../../../../../services/chassis/log/kafka/failure.ts';

test('requests on the way to a broker that turns out to be silent failed because it is away, and are made again', () => {
  const lost = connectionLost('127.0.0.1:9092', brokerSilent(5_000));
  expect(lost).toMatchObject({ code: 'BROKER_CONNECTION_LOST', retryable: true });
  expect(lost).toHaveProperty('message', 'no answer within 5000 ms');
});
