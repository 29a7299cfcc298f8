import { MemoryCluster } from '../../../services/chassis/log/memory/memory-cluster.ts';
import { describeLog } from './log-contract.ts';

describeLog('memory', () => new MemoryCluster());
