import type { BlobPort } from '../../../services/chassis/content/blobs.ts';
import type { Network } from './network.ts';
import { gated, type Process } from './process.ts';

/** The blob store that all hosts share, as one process sees it: every request takes time and may find it away. */
export function simulatedBlobs(
  shared: BlobPort,
  parts: { process: Process; network: Network },
): BlobPort {
  const { process, network } = parts;
  return {
    put: (digest, text) =>
      gated(
        process,
        network.blob(() => shared.put(digest, text)),
      ),
    get: (digest) =>
      gated(
        process,
        network.blob(() => shared.get(digest)),
      ),
  };
}
