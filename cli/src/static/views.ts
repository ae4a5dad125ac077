import type { Answer } from '@svc/contract/endpoint.ts';
import type { unpublishSite } from '@svc/contract/static-sites.shapes.ts';
import type { View } from '../command.ts';
import type { Ctx } from '../context.ts';
import { sanitize } from '../framework/text.ts';
import { formatBytes } from '../output/progress.ts';
import type { MovedRelease } from './deploy-site.ts';

const size = { title: 'size', value: ({ bytes }: Record<string, unknown>) => formatBytes(Number(bytes)) };
const when = {
  title: 'when',
  value: (release: Record<string, unknown>) => release.finalized_at ?? release.created_at,
};

export const releaseView: View = {
  columns: ['id', 'number', 'version', 'state', 'roles', 'files', size, when],
  fields: [
    'id',
    'number',
    'version',
    'state',
    'roles',
    'files',
    size,
    'config',
    'reviewed_for',
    'digest',
    'on_finalize',
    'created_by',
    'created_at',
    'finalized_at',
    'activated_at',
    'revoked_at',
  ],
};

export const draftView: View = {
  columns: releaseView.columns,
  fields: [
    'id',
    'number',
    'version',
    'state',
    'files',
    size,
    { title: 'missing', value: ({ missing }) => (Array.isArray(missing) ? missing.length : 0) },
    'upload_url',
    'upload_expires_at',
  ],
};

export const releaseFileView: View = { columns: ['path', 'size', 'sha256'] };
export const releaseDiffView: View = { columns: ['change', 'path', 'size', 'before_size'] };

const promotion = ['id', 'release_id', 'status', 'note', 'requested_by', 'requested_at', 'reason'] as const;

export const promotionView: View = { columns: promotion, fields: promotion };

export const siteView: View = {
  columns: ['app_id', 'url', 'published', 'staging_url'],
  fields: [
    { title: 'url', value: urlText },
    'published',
    { title: 'active', value: activeText },
    'staging_enabled',
    'staging_url',
    { title: 'staged', value: ({ staged_release }) => releaseText(staged_release) },
    { title: 'promotion', value: ({ promotion }) => promotionText(promotion) },
    'config',
    { title: 'effective config', value: servedText },
    'generation',
    'updated_at',
    'app_id',
  ],
};

function urlText({ url, published }: Record<string, unknown>): unknown {
  return published || url === null ? url : `${url} (unpublished)`;
}

function activeText({ active_release, published }: Record<string, unknown>): string {
  const text = releaseText(active_release);
  return published || text === '' ? text : `${text} (unpublished)`;
}

/** A release may have its own configuration, and a reviewed one keeps it. */
function servedText({ active_release, config }: Record<string, unknown>): unknown {
  if (!isRecord(active_release)) return '';
  return Bun.deepEquals(active_release.config, config) ? 'same as config' : active_release.config;
}

function releaseText(release: unknown): string {
  if (!isRecord(release)) return '';
  const { number, version, files, bytes, id } = release;
  const name = [number, version].filter((part) => part !== '').join(' ');
  return `${name}, ${files} files, ${formatBytes(Number(bytes))} (${id})`;
}

function promotionText(promotion: unknown): string {
  if (!isRecord(promotion)) return '';
  const { status, requested_at, decided_at, note, reason } = promotion;
  const text = decided_at === null ? note : reason;
  return `${status} since ${decided_at ?? requested_at}${text === '' ? '' : `: ${text}`}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

export function releaseMovedText({ number, version, state, pointer, url, changed }: MovedRelease): string {
  const name = `Release ${number}${version === '' ? '' : ` (${sanitize(version)})`}`;
  const is = changed === false ? 'was already' : 'is';
  const at = pointer === null || url === null ? '.' : `: ${sanitize(url)}`;
  return `${name} ${is} ${pointer ?? state}${at}\n`;
}

type Site = Pick<Answer<typeof unpublishSite>, 'published' | 'active_release' | 'changed'>;

export function printUnpublishedNote(
  ctx: Ctx,
  { published, active_release, changed }: Site,
  app: string,
): void {
  if (published || active_release === null || ctx.globals.format !== 'table') return;
  const line = `svc apps static releases activate --release-id ${active_release.number} --app ${sanitize(app)}`;
  const before = changed === false ? 'The site was already unpublished. ' : '';
  ctx.note(`${before}To show it again: ${line} --execute`);
}
