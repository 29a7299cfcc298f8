import { mainHost } from '../chassis/host/main.ts';
import { createToolRunner } from './service.ts';

await mainHost([createToolRunner]);
