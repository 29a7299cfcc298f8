/** A stand-in for a provider, as a process of its own: its ways come as JSON, and it says where it listens. */
import { type ModelWays, ProviderStub } from '../support/provider-stub.ts';

const stub = new ProviderStub(JSON.parse(process.argv[2] ?? '{}') as ModelWays);
const url = await stub.start();
process.once('disconnect', () => void stub.stop());
process.send?.(url);
