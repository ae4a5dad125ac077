import { Alert } from '@mantine/core';
import type { ReleaseView } from './release-view.ts';
import { TextDiff } from './text-diff.tsx';

/** How the files are served is part of what a review approves. */
export function ConfigDiff({ before, after }: { before: ReleaseView; after: ReleaseView }) {
  const [old, now] = [before.config, after.config].map((config) => JSON.stringify(sorted(config), null, 2));
  if (old === now) return null;
  return (
    <Alert color="blue" title="The files are served with another configuration">
      <TextDiff before={old ?? ''} after={now ?? ''} />
    </Alert>
  );
}

function sorted(config: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(config).sort(([one], [other]) => (one < other ? -1 : 1)));
}
