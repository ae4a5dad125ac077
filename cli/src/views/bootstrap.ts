import type { View } from '../command.ts';

export const bootstrapView: View = {
  columns: ['id', 'state', 'step', 'slug'],
  fields: [
    ...['id', 'kind', 'state', 'step', 'slug', 'url', 'repo', 'clone_url', 'commit'],
    ...['app_id', 'template_id', 'source_app_id', 'deployment_id'],
    { title: 'failure', value: ({ failure }) => Reflect.get(Object(failure), 'code') ?? '' },
    { title: 'detail', value: ({ failure }) => Reflect.get(Object(failure), 'detail') ?? '' },
    { title: 'undo', value: ({ undo }) => (Array.isArray(undo) ? undo.join('; ') : '') },
    ...['created_at', 'ended_at'],
  ],
};
