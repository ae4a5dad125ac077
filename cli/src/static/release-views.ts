import type { View } from '../command.ts';
import { readable } from '../storage/byte-progress.ts';

const size = { title: 'size', value: ({ bytes }: Record<string, unknown>) => readable(Number(bytes)) };
const when = {
  title: 'when',
  value: (release: Record<string, unknown>) => release.finalized_at ?? release.created_at,
};

export const releaseView: View = {
  columns: ['id', 'number', 'version', 'state', 'roles', 'files', size, when],
  fields: [
    ...['id', 'number', 'version', 'state', 'roles', 'files'],
    size,
    ...['config', 'reviewed_for', 'digest', 'on_finalize', 'created_by', 'created_at'],
    ...['finalized_at', 'activated_at', 'revoked_at'],
  ],
};

/** A draft, and where its files are to be sent. */
export const draftView: View = {
  columns: releaseView.columns,
  fields: [
    ...['id', 'number', 'version', 'state', 'files'],
    size,
    { title: 'missing', value: ({ missing }) => (Array.isArray(missing) ? missing.length : 0) },
    ...['upload_url', 'upload_expires_at'],
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
    { title: 'visitors get', value: servedText },
    ...['generation', 'updated_at', 'app_id'],
  ],
};

/** The address stays while nothing is shown there. */
function urlText({ url, published }: Record<string, unknown>): unknown {
  return published || url === null ? url : `${url} (shows nothing)`;
}

function activeText({ active_release, published }: Record<string, unknown>): string {
  const text = releaseText(active_release);
  return published || text === '' ? text : `${text} (not shown)`;
}

/** What was reviewed keeps its configuration, and a release may have its own. */
function servedText({ active_release, config }: Record<string, unknown>): unknown {
  if (!isRecord(active_release)) return '';
  return Bun.deepEquals(active_release.config, config) ? 'as configured' : active_release.config;
}

/** `4 v1.2, 120 files, 3.4 MiB (0198…)` */
function releaseText(release: unknown): string {
  if (!isRecord(release)) return '';
  const { number, version, files, bytes, id } = release;
  const name = [number, version].filter((part) => part !== '').join(' ');
  return `${name}, ${files} files, ${readable(Number(bytes))} (${id})`;
}

/** `pending since 2031-05-01T12:00:00.000Z: please look` */
function promotionText(promotion: unknown): string {
  if (!isRecord(promotion)) return '';
  const { status, requested_at, decided_at, note, reason } = promotion;
  const said = decided_at === null ? note : reason;
  return `${status} since ${decided_at ?? requested_at}${said === '' ? '' : `: ${said}`}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
