import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { BucketAddress } from './address.ts';
import { ask, type BucketRequest } from './request.ts';

/** What lies in a bucket: lists and old versions, page by page. */

const entities: Readonly<Record<string, string>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" },
};

const plain = (said: string): string =>
  said.replace(/&(?:#(\d+)|#x([0-9a-fA-F]+)|(\w+));/g, (whole, digits, hex, name) => {
    if (digits !== undefined) return String.fromCodePoint(Number(digits));
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    return entities[name] ?? whole;
  });

const valueIn = (xml: string, name: string): string =>
  plain(new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? '');

const blocksIn = (xml: string, name: string): readonly string[] =>
  [...xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs'))].map(([, inside = '']) => inside);

/** A list asks the bucket itself, which is always there if it answers at all. */
async function answerTo(
  address: BucketAddress,
  query: Readonly<Record<string, string>>,
): Promise<string> {
  const answer = await ask(address, { method: 'GET', query });
  return answer === undefined ? '' : await text(answer);
}

/** Reads an answer to its end, so that its connection is free again. */
export async function done(answer: IncomingMessage | undefined): Promise<void> {
  answer?.resume();
}

/** Keys below the prefix. */
export async function keysOf(address: BucketAddress): Promise<readonly string[]> {
  const keys: string[] = [];
  let more: Readonly<Record<string, string>> = {};
  for (;;) {
    const xml = await answerTo(address, { 'list-type': '2', prefix: address.prefix, ...more });
    for (const block of blocksIn(xml, 'Contents'))
      keys.push(valueIn(block, 'Key').slice(address.prefix.length));
    const token = valueIn(xml, 'NextContinuationToken');
    if (token === '') return keys;
    more = { 'continuation-token': token };
  }
}

/** Whether the bucket keeps, or once kept, what is written over. */
export async function keepsVersions(address: BucketAddress): Promise<boolean> {
  return valueIn(await answerTo(address, { versioning: '' }), 'Status') !== '';
}

/** Requests that delete every version below the folder but those that are to be read today. */
export async function olderVersions(
  address: BucketAddress,
  folder: string,
): Promise<readonly BucketRequest[]> {
  const found: BucketRequest[] = [];
  const asked = { versions: '', prefix: address.prefix + folder };
  let more: Readonly<Record<string, string>> = {};
  for (;;) {
    const xml = await answerTo(address, { ...asked, ...more });
    for (const block of blocksIn(xml, 'Version')) {
      if (valueIn(block, 'IsLatest') === 'true') continue;
      const key = valueIn(block, 'Key').slice(address.prefix.length);
      found.push({ method: 'DELETE', key, query: { versionId: valueIn(block, 'VersionId') } });
    }
    if (valueIn(xml, 'IsTruncated') !== 'true') return found;
    more = {
      'key-marker': valueIn(xml, 'NextKeyMarker'),
      'version-id-marker': valueIn(xml, 'NextVersionIdMarker'),
    };
  }
}
