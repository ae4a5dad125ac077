import type { View } from '../command.ts';
import { formatBytes } from '../output/progress.ts';

export const bootstrapView: View = {
  columns: ['id', 'state', 'step', 'slug'],
  fields: [
    'id',
    'kind',
    'state',
    'step',
    'slug',
    'url',
    'repo',
    'clone_url',
    'commit',
    'app_id',
    'template_id',
    'source_app_id',
    'deployment_id',
    { title: 'failure', value: ({ failure }) => Reflect.get(Object(failure), 'code') ?? '' },
    { title: 'detail', value: ({ failure }) => Reflect.get(Object(failure), 'detail') ?? '' },
    { title: 'undo', value: ({ undo }) => (Array.isArray(undo) ? undo.join('; ') : '') },
    'created_at',
    'ended_at',
  ],
};

export const instanceView: View = {
  columns: [
    'process',
    'index',
    'state',
    'since',
    {
      title: 'memory',
      value: ({ memory_bytes: bytes }) => (typeof bytes === 'number' ? formatBytes(bytes) : ''),
    },
    'restarts',
    { title: 'deployment', value: ({ deployment_seq }) => deployment_seq },
    'id',
  ],
  fields: [],
  empty: ({ serves }) => emptyTexts.get(serves) ?? null,
};
const emptyTexts = new Map<unknown, string>([
  ['site', 'A site has no process: its files are served.'],
  ['nothing', 'Nothing is deployed.'],
]);

export const scaleView: View = { columns: ['process', 'instances', 'set_by'] };

export const runView: View = {
  main: 'command',
  columns: [
    'id',
    'state',
    'exit_code',
    { title: 'command', value: ({ command, path }) => command ?? `POST ${path}` },
    'created_at',
    'ended_at',
  ],
  fields: [
    'id',
    'state',
    'exit_code',
    'failure',
    'command',
    'path',
    'schedule',
    'due_at',
    'timeout_seconds',
    'deployment_id',
    'created_by',
    'created_at',
    'started_at',
    'ended_at',
  ],
};

export const scheduleRunView: View = {
  main: 'failure',
  columns: ['id', 'due_at', 'state', 'exit_code', 'started_at', 'ended_at', 'failure'],
  fields: [],
};

export const scheduleView: View = {
  columns: [
    'name',
    'cron',
    'timezone',
    { title: 'runs', value: ({ command, path }) => command ?? `POST ${path}` },
    'next_at',
    { title: 'last', value: ({ last }) => Reflect.get(Object(last), 'state') ?? '' },
    { title: 'last_at', value: ({ last }) => Reflect.get(Object(last), 'ended_at') ?? '' },
  ],
  fields: [],
};

export const previewView: View = {
  main: 'url',
  columns: [
    'branch',
    { title: 'state', value: ({ deployment }) => Reflect.get(Object(deployment), 'state') ?? '' },
    'url',
    { title: 'commit', value: ({ commit }) => (typeof commit === 'string' ? commit.slice(0, 12) : '') },
    'pushed_at',
    'expires_at',
    'slug',
  ],
  fields: [
    'slug',
    'branch',
    'url',
    { title: 'state', value: ({ deployment }) => Reflect.get(Object(deployment), 'state') ?? '' },
    'live',
    'commit',
    'commit_message',
    { title: 'deployment', value: ({ deployment }) => Reflect.get(Object(deployment), 'id') ?? '' },
    'pushed_by',
    'pushed_at',
    'expires_at',
    'created_at',
    'id',
  ],
};

export const deploymentView: View = {
  columns: [
    'id',
    'seq',
    {
      title: 'state',
      value: ({ state, queue_position }) => (queue_position ? `${state} (${queue_position})` : state),
    },
    'kind',
    'trigger',
    { title: 'commit', value: ({ commit }) => (typeof commit === 'string' ? commit.slice(0, 12) : '') },
    'created_at',
    { title: 'failure', value: ({ failure }) => Reflect.get(Object(failure), 'code') ?? '' },
  ],
  fields: [
    'id',
    'seq',
    'state',
    'queue_position',
    'step',
    'kind',
    'trigger',
    'method',
    'source',
    'repo',
    'ref',
    'commit',
    { title: 'message', value: ({ commit_message }) => commit_message },
    'url',
    'digest',
    'kept',
    'rollback_of',
    'release_id',
    { title: 'failure', value: ({ failure }) => Reflect.get(Object(failure), 'code') ?? '' },
    {
      title: 'review',
      value: ({ review }) => [Object(review).status, Object(review).reason].filter(Boolean).join(': '),
    },
    { title: 'failed_at', value: ({ failure }) => Reflect.get(Object(failure), 'step') ?? '' },
    { title: 'detail', value: ({ failure }) => Reflect.get(Object(failure), 'detail') ?? '' },
    'created_at',
    'started_at',
    'built_at',
    'live_at',
    'ended_at',
  ],
};

export const domainView: View = {
  columns: [
    'id',
    { title: 'host', value: hostOf },
    'status',
    { title: 'ownership', value: (domain) => stateOf(domain.ownership) },
    { title: 'routing', value: (domain) => stateOf(domain.routing) },
    { title: 'certificate', value: (domain) => stateOf(domain.certificate) },
  ],
};

function hostOf({ host, host_unicode: unicode }: Record<string, unknown>): unknown {
  return host === unicode ? host : `${unicode} (${host})`;
}

function stateOf(check: unknown): unknown {
  return typeof check === 'object' && check !== null && 'state' in check ? check.state : '';
}

export const gitAccountView: View = { columns: ['id', 'login', 'kind', 'host', 'linked_at'] };

export const installationView: View = { columns: ['id', 'account', 'account_kind', 'repositories'] };

export const repositoryView: View = {
  columns: ['full_name', 'id', 'private', 'can_push', 'default_branch', 'web_url'],
};

export const connectionView: View = {
  columns: ['app_id', 'repo', 'branch'],
  fields: [
    'app_id',
    'repo',
    'branch',
    'private',
    'installation_id',
    'web_url',
    'clone_url',
    { title: 'hook', value: ({ hook }) => hookText(hook) },
    'connected_by',
    'connected_at',
  ],
};

export const gitStatusView: View = {
  columns: ['connected'],
  fields: [
    'connected',
    'push_url',
    ...['repo', 'branch', 'private', 'installation_id', 'web_url'].map((name) => ({
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

function pushText({ commit, branch, summary, received_at }: Record<string, unknown>): string {
  if (typeof commit !== 'string') return '';
  return `${commit.slice(0, 12)} to ${branch} at ${received_at}: ${summary}`;
}
