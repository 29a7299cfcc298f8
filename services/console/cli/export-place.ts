import { resolve } from 'node:path';
import { bucketAddress, isBucket } from '../../event-store/bucket/address.ts';
import { bucketPlace } from '../../event-store/bucket/place.ts';
import { directoryPlace, type ExportPlace } from '../../event-store/parquet/place.ts';

type Asked = Readonly<{
  workingDir: string;
  environment: Readonly<Record<string, string | undefined>>;
}>;

/** Where an export lies or goes, as a person names it. Throws BUCKET_NAME_INVALID, BUCKET_CREDENTIALS_MISSING. */
export const exportPlace = (name: string, { workingDir, environment }: Asked): ExportPlace =>
  isBucket(name)
    ? bucketPlace(bucketAddress(name, environment))
    : directoryPlace(resolve(workingDir, name));
