import { mainHost } from '../chassis/host/main.ts';
import { createToolGuard } from './service.ts';

await mainHost([createToolGuard]);
