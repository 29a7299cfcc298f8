import { mainHost } from '../chassis/host/main.ts';
import { createJanitor } from './service.ts';

await mainHost([createJanitor]);
