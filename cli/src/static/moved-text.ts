import { plain } from '../output.ts';
import type { MovedRelease } from './deployed.ts';

/** `Release 4 (v1.2) is active: http://…` */
export function movedText({ number, version, state, pointer, url, changed }: MovedRelease): string {
  const name = `Release ${number}${version === '' ? '' : ` (${plain(version)})`}`;
  const is = changed === false ? 'was already' : 'is';
  const at = pointer === null || url === null ? '.' : `: ${plain(url)}`;
  return `${name} ${is} ${pointer ?? state}${at}\n`;
}
