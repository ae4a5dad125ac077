import type { View } from '../command.ts';

export const gitAccountView: View = { columns: ['id', 'login', 'kind', 'host', 'linked_at'] };

export const installationView: View = { columns: ['id', 'account', 'account_kind', 'repositories'] };

export const repositoryView: View = {
  columns: ['full_name', 'id', 'private', 'can_push', 'default_branch', 'web_url'],
};

export const connectionView: View = {
  columns: ['app_id', 'repo', 'branch'],
  fields: [
    ...['app_id', 'repo', 'branch', 'private', 'installation_id', 'web_url', 'clone_url'],
    { title: 'hook', value: ({ hook }) => hookText(hook) },
    ...['connected_by', 'connected_at'],
  ],
};

export const gitStatusView: View = {
  columns: ['connected'],
  fields: [
    'connected',
    ...['repo', 'branch', 'private', 'installation_id', 'web_url', 'clone_url'].map((name) => ({
      title: name,
      value: ({ connection }: Record<string, unknown>) => Reflect.get(Object(connection), name),
    })),
    { title: 'hook', value: ({ connection }) => hookText(Reflect.get(Object(connection), 'hook')) },
    { title: 'last_push', value: ({ last_push }) => pushText(Object(last_push)) },
  ],
};

function hookText(hook: unknown): string {
  const { state, detail } = Object(hook);
  return [state, detail].filter(Boolean).join(': ');
}

function pushText({ commit, branch, outcome, received_at }: Record<string, unknown>): string {
  if (typeof commit !== 'string') return '';
  return `${commit.slice(0, 12)} to ${branch} at ${received_at}: ${outcome}`;
}
