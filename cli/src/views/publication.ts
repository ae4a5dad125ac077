import type { View } from '../command.ts';

export const publicationView: View = {
  columns: [
    'id',
    { title: 'app', value: ({ app_slug }) => app_slug },
    'status',
    'visibility',
    { title: 'asked by', value: ({ requested_by_email }) => requested_by_email },
    { title: 'at', value: ({ requested_at }) => requested_at },
    'note',
  ],
  fields: [
    'id',
    { title: 'app', value: ({ app_slug, app_name }) => `${app_name} (${app_slug})` },
    'status',
    {
      title: 'visibility',
      value: ({ visibility, visibility_before }) => `${visibility_before} → ${visibility}`,
    },
    ...['pinned', 'deployment_id', 'release_id', 'digest', 'note'],
    { title: 'asked by', value: ({ requested_by_email }) => requested_by_email },
    ...['requested_at', 'expires_at'],
    { title: 'decided by', value: ({ decided_by_email }) => decided_by_email },
    ...['decided_at', 'reason'],
  ],
};
