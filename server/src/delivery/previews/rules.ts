import type { Preview } from '@svc/contract/previews.shapes.ts';
import type { z } from 'zod';
import { appUrl } from '../../apps/record/rules.ts';
import { sha256 } from '../../core/values.ts';
import type { PreviewRow } from './store.ts';

export type PreviewRecord = z.output<typeof Preview>;

const hashChars = 6;
/** A shorter part of a host would not tell branches apart. */
export const slugCharsMin = hashChars + 2;

/**
 * The name of a branch as a part of a host: `feature/Login_2` becomes `feature-login-2`. A name that is cut, or means another
 * branch already, ends with a hash.
 */
export function branchSlug(
  branch: string,
  { charsMax, isTaken }: { charsMax: number; isTaken: (slug: string) => boolean },
): string {
  const plain = branch
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+|-+$/g, '');
  // `xn--` begins a name in Punycode.
  if (plain.length >= 2 && plain !== 'xn' && plain.length <= charsMax && !isTaken(plain)) return plain;
  const start = plain.slice(0, charsMax - hashChars - 1).replace(/-+$/, '');
  return `${start || 'b'}-${sha256(branch).slice(0, hashChars)}`;
}

export function previewRecord(row: PreviewRow, urls: { baseUrl: string; appsDomain: string }): PreviewRecord {
  const { deployment } = row;
  return {
    id: row.app_id,
    branch: row.branch,
    slug: row.slug,
    url: appUrl(urls, row.subdomain),
    commit: row.commit_sha,
    commit_message: deployment?.commit_message ?? null,
    deployment: deployment && { id: deployment.id, seq: deployment.seq, state: deployment.state },
    live: row.is_live,
    pushed_by: row.pushed_by,
    pushed_at: row.pushed_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    created_at: row.created_at.toISOString(),
  };
}
