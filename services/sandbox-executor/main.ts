import { mainHost } from '../chassis/host/main.ts';
import { createSandboxExecutor } from './service.ts';

await mainHost([createSandboxExecutor]);
