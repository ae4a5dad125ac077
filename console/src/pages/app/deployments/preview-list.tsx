import { Anchor, Group, Stack, Text } from '@mantine/core';
import type { Answer } from '@svc/contract/endpoint.ts';
import { deletePreview, listPreviews, redeployPreview } from '@svc/contract/previews.ts';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { useChange } from '../../../change/use-change.ts';
import { ChangeButton } from '../../../components/buttons.tsx';
import { DataTable } from '../../../components/data-table.tsx';
import { StateBadge, TimeText } from '../../../components/display.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { QueryView } from '../../../components/query-view.tsx';
import { Heading, Hint } from '../../../components/text.tsx';
import { useApp, usePersonNames } from '../use-app.tsx';
import { isInProgress, whyNotDeploy } from './deployment.ts';

type Preview = Answer<NonNullable<typeof listPreviews.shape>>['items'][number];

/** Nothing for an app without previews: most have none. */
export function PreviewList() {
  const { params } = useApp();
  const answer = useEndpoint(
    listPreviews,
    { params, query: { per_page: 200 } },
    { refetchMs: (last) => (last?.items.some(isBusy) ? 2_000 : 15_000) },
  );
  if (!answer.data || answer.data.items.length === 0) return null;
  return (
    <Stack gap="sm">
      <Stack gap={0}>
        <Heading>Previews</Heading>
        <Hint>Branches under hosts of their own, with their own rows and the variables for previews.</Hint>
      </Stack>
      <QueryView answer={answer} lines={3}>
        {({ items }) => <PreviewTable previews={items} />}
      </QueryView>
    </Stack>
  );
}

function isBusy({ deployment }: Preview): boolean {
  return deployment !== null && isInProgress({ state: deployment.state, ended_at: null });
}

function PreviewTable({ previews }: { previews: readonly Preview[] }) {
  const nameOf = usePersonNames();
  return (
    <DataTable
      label="Previews"
      minWidth={760}
      rows={previews}
      columns={[
        {
          head: 'Branch',
          cell: ({ branch, url }) => (
            <Stack gap={0}>
              <Anchor href={url} target="_blank" rel="noreferrer" fw={600} className="mono">
                {branch}
              </Anchor>
              <Hint>{new URL(url).host}</Hint>
            </Stack>
          ),
        },
        {
          head: 'State',
          cell: ({ deployment }) => (deployment ? <StateBadge state={deployment.state} /> : '–'),
        },
        {
          head: 'Commit',
          cell: ({ commit, commit_message }) => (
            <Stack gap={0} maw={280}>
              <Text size="sm" className="mono">
                {commit.slice(0, 12)}
              </Text>
              <Hint lineClamp={1}>{commit_message}</Hint>
            </Stack>
          ),
        },
        { head: 'By', cell: ({ pushed_by }) => nameOf(pushed_by) ?? '–' },
        { head: 'Pushed', cell: ({ pushed_at }) => <TimeText value={pushed_at} /> },
        { head: 'Removed', cell: ({ expires_at }) => <TimeText value={expires_at} /> },
        { head: 'Actions', cell: (preview) => <PreviewActions preview={preview} /> },
      ]}
    />
  );
}

function PreviewActions({ preview: { slug, branch } }: { preview: Preview }) {
  const { app, params, why } = useApp();
  const input = { params: { ...params, preview: slug } };
  const redeploy = useChange(redeployPreview, {
    title: `Redeploy the preview of ${branch}`,
    verb: 'Redeploy',
    done: 'Deployment started.',
  });
  const remove = useChange(deletePreview, {
    title: `Delete the preview of ${branch}`,
    verb: 'Delete',
    done: 'Preview deleted.',
  });
  return (
    <Stack gap="xs">
      <Group gap="xs" wrap="nowrap">
        <ChangeButton why={why(redeployPreview) ?? whyNotDeploy(app)} change={redeploy} input={input}>
          Redeploy
        </ChangeButton>
        <ChangeButton why={why(deletePreview)} change={remove} input={input}>
          Delete
        </ChangeButton>
      </Group>
      <ProblemAlert error={redeploy.problem ?? remove.problem} />
    </Stack>
  );
}
