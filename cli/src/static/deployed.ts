import type { Answer } from '@svc/contract/endpoint.ts';
import type { finalizeRelease } from '@svc/contract/static-sites.shapes.ts';
import type { View } from '../command.ts';
import { readable } from '../storage/byte-progress.ts';
import type { Uploaded } from './upload-missing.ts';

export type MovedRelease = Answer<typeof finalizeRelease>;

/** What people see of a release that was just deployed. */
export const deployView: View = {
  columns: ['id', 'number', 'version', 'pointer', 'url'],
  fields: [
    { title: 'release', value: ({ number }) => number },
    'id',
    'version',
    { title: 'files', value: (release) => `${release.files}, ${readable(Number(release.bytes))}` },
    { title: 'sent', value: (release) => sentText(release.uploaded as Uploaded) },
    { title: 'shown as', value: ({ pointer, url }) => shownAs(pointer, url) },
    'url',
  ],
};

function shownAs(pointer: unknown, url: unknown): string {
  if (pointer === null) return 'nothing yet';
  return url === null ? `${pointer}, but seen nowhere` : `${pointer}`;
}

function sentText({ files, bytes }: Uploaded): string {
  return files === 0 ? 'none, all were there' : `${files}, ${readable(bytes)}`;
}
