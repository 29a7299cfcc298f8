import { mainHost } from '../chassis/host/main.ts';
import { createIntake } from './service.ts';

await mainHost([createIntake]);
