import type { View } from '../command.ts';

export const deploymentView: View = {
  columns: [
    'id',
    'seq',
    'state',
    'kind',
    'trigger',
    { title: 'commit', value: ({ commit }) => (typeof commit === 'string' ? commit.slice(0, 12) : '') },
    'created_at',
    { title: 'failure', value: ({ failure }) => Reflect.get(Object(failure), 'code') ?? '' },
  ],
  fields: [
    ...['id', 'seq', 'state', 'step', 'kind', 'trigger', 'method', 'source', 'repo', 'ref', 'commit'],
    { title: 'message', value: ({ commit_message }) => commit_message },
    ...['url', 'digest', 'kept', 'rollback_of', 'release_id'],
    { title: 'failure', value: ({ failure }) => Reflect.get(Object(failure), 'code') ?? '' },
    { title: 'failed_at', value: ({ failure }) => Reflect.get(Object(failure), 'step') ?? '' },
    { title: 'detail', value: ({ failure }) => Reflect.get(Object(failure), 'detail') ?? '' },
    ...['created_at', 'started_at', 'built_at', 'live_at', 'ended_at'],
  ],
};
