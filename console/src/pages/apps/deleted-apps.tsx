import { Stack, Text } from '@mantine/core';
import { listApps } from '@svc/contract/app-lists.ts';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { useTenant } from '../../api/me.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { DataTable } from '../../parts/data-table.tsx';
import { Empty } from '../../parts/empty.tsx';
import { LinkTo } from '../../parts/link-to.tsx';
import { PagedList } from '../../parts/paged-list.tsx';
import { TimeText } from '../../parts/time-text.tsx';
import { usePage } from '../../parts/use-search-value.ts';

/** Apps that are deleted and not purged yet; the page of each has the way back. */
export function DeletedApps() {
  const tenant = useTenant();
  const answer = useAnswer(listApps, {
    params: { tenantID: tenant.id },
    query: { deleted: 'true', page: usePage() },
  });
  return (
    <PagedList
      answer={answer}
      empty={
        <Empty title="No deleted app" command="svc apps list --deleted">
          An app that is deleted stands here until it is purged; so long it can be restored.
        </Empty>
      }
    >
      {(items) => (
        <DataTable
          label="Deleted apps"
          minWidth={520}
          rows={items}
          keyOf={({ id }) => id}
          columns={[
            {
              head: 'App',
              cell: (app) => (
                <Stack gap={0}>
                  <LinkTo to={consolePaths.app(tenant.slug, app.id)} fw={600}>
                    {app.name}
                  </LinkTo>
                  <Text size="sm" c="dimmed" lineClamp={1}>
                    {app.summary || app.slug}
                  </Text>
                </Stack>
              ),
            },
            { head: 'Deleted', cell: (app) => <TimeText value={app.deleted_at} /> },
            { head: 'Purged', cell: (app) => <TimeText value={app.purge_after} /> },
          ]}
        />
      )}
    </PagedList>
  );
}
