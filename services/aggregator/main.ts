import { mainHost } from '../chassis/host/main.ts';
import { createAggregator } from './service.ts';

await mainHost([createAggregator]);
