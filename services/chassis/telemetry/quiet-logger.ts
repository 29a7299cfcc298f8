import type { Logger } from '../host/ports.ts';

const say = (): void => undefined;

/** For tools whose errors are thrown and told once. */
export const quietLogger: Logger = { debug: say, info: say, warn: say, error: say };
