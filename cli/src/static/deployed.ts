import type { Answer } from '@svc/contract/endpoint.ts';
import type { finalizeRelease } from '@svc/contract/static-sites.shapes.ts';
import type { View } from '../command.ts';
import { plain } from '../output.ts';
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
    { title: 'shown as', value: ({ pointer }) => pointer ?? 'nothing yet' },
    'url',
  ],
};

function sentText({ files, bytes }: Uploaded): string {
  return files === 0 ? 'none, all were there' : `${files}, ${readable(bytes)}`;
}

/** What is left to do until visitors see it; null: nothing. */
export function deployNote(app: string, { id, pointer, url }: MovedRelease): string | null {
  const of = `--release-id ${id} --app ${plain(app)} --execute`;
  if (pointer === 'staged')
    return `Visitors see it once it was reviewed. Next: svc apps static releases promote-request ${of}`;
  if (pointer === null)
    return (
      'It is shown nowhere: what visitors see beyond the owners is reviewed first, at the staging host. ' +
      `Next: svc apps static site staging enable --app ${plain(app)} --execute, then svc apps static releases stage ${of}`
    );
  return url === null
    ? `The app has no host yet. Next: svc apps update ${plain(app)} --subdomain <name> --execute`
    : null;
}
