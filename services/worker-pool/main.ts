import { mainHost } from '../chassis/host/main.ts';
import { readPoolName } from './config.ts';
import { createWorkerPool } from './service.ts';

await mainHost([createWorkerPool(readPoolName())]);
