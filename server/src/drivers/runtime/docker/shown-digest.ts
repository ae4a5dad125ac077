import { createHash } from 'node:crypto';

/** The same for the same images, and nothing by which one could be had: an id is as good as a name to an engine. */
export function shownDigest(of: unknown): string {
  return `sha256:${createHash('sha256').update(JSON.stringify(of)).digest('hex')}`;
}
