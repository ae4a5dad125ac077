import type { Answer } from '@svc/contract/endpoint.ts';
import type { getReview } from '@svc/contract/review.ts';
import type { View } from '../command.ts';
import { newDataScopesColumn } from './apps.ts';

type Diff = Answer<NonNullable<typeof getReview.shape>>['diff'];
type Version = NonNullable<Diff['after']>;

const audience = ({ visibility, visibility_before }: Record<string, unknown>) =>
  visibility === visibility_before ? visibility : `${visibility_before} → ${visibility}`;

/** Absent after a decision, and in lists. */
const diffOf = ({ diff }: Record<string, unknown>) => diff as Diff | undefined;

export const reviewView: View = {
  columns: [
    'id',
    'kind',
    { title: 'app', value: ({ app_slug }) => app_slug },
    'status',
    { title: 'visibility', value: audience },
    { title: 'requested by', value: ({ requested_by_email }) => requested_by_email },
    { title: 'at', value: ({ requested_at }) => requested_at },
    'note',
  ],
  fields: [
    'id',
    'kind',
    { title: 'app', value: ({ app_slug, app_name }) => `${app_name} (${app_slug})` },
    'status',
    { title: 'visibility', value: audience },
    newDataScopesColumn,
    'url',
    { title: 'live now', value: (record) => versionText(diffOf(record)?.before) },
    { title: 'reviewed', value: (record) => versionText(diffOf(record)?.after) },
    { title: 'commits', value: (record) => commitText(diffOf(record)) },
    { title: 'files', value: (record) => filesText(diffOf(record)) },
    { title: 'invited', value: (record) => diffOf(record)?.audience.invited },
    'deployment_id',
    'release_id',
    'digest',
    'note',
    { title: 'requested by', value: ({ requested_by_email }) => requested_by_email },
    'requested_at',
    'expires_at',
    { title: 'decided by', value: ({ decided_by_email }) => decided_by_email },
    'decided_at',
    'reason',
  ],
};

function versionText(version: Version | null | undefined): string {
  if (!version) return '';
  const { deployment, release, version: label, commit_message } = version;
  return [
    deployment === null ? '' : `deployment #${deployment}`,
    release === null ? '' : `release #${release}`,
    label,
    commit_message,
  ]
    .filter(Boolean)
    .join(', ');
}

function commitText(diff: Diff | undefined): string {
  const to = diff?.after?.commit_sha;
  if (!to) return '';
  const from = diff.before?.commit_sha;
  return from ? `${from.slice(0, 12)}..${to.slice(0, 12)}` : to.slice(0, 12);
}

const shownMax = 20;

function filesText(diff: Diff | undefined): string {
  if (!diff?.files) return '';
  const { added, changed, removed, items } = diff.files;
  const signs = { added: '+', changed: '~', removed: '-' };
  const shown = items.slice(0, shownMax).map(({ path, change }) => `${signs[change]}${path}`);
  const left = added + changed + removed - shown.length;
  return [
    `${added} added, ${changed} changed, ${removed} removed`,
    ...shown,
    ...(left > 0 ? [`and ${left} more`] : []),
  ].join('; ');
}
