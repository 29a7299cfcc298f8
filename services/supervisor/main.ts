import { mainHost } from '../chassis/host/main.ts';
import { createSupervisor } from './service.ts';

await mainHost([createSupervisor]);
