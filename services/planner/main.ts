import { mainHost } from '../chassis/host/main.ts';
import { createPlanner } from './service.ts';

await mainHost([createPlanner]);
