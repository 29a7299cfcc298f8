import { mainHost } from '../chassis/host/main.ts';
import { createEventStoreService } from './service.ts';

await mainHost([createEventStoreService]);
