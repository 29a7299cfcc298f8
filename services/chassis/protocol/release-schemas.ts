/**
 * How a compiler of schemas is set for those that the release carries. That they are JSON Schemas is what a test says: to
 * look again costs each compiler of each process some 70 ms of processor time, for it compiles the dialect first. What
 * people write is checked where it is read.
 */
export const releaseSchemas = { validateSchema: false } as const;
