import { mainHost } from '../chassis/host/main.ts';
import { createModelGateway } from './service.ts';

await mainHost([createModelGateway]);
