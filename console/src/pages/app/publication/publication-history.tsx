import { Text, Title } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { DataTable } from '../../../parts/data-table.tsx';
import { LinkTo } from '../../../parts/link-to.tsx';
import { StateBadge } from '../../../parts/state-badge.tsx';
import { TimeText } from '../../../parts/time-text.tsx';
import { visibilityNames } from '../../../parts/visibility-texts.ts';
import { useApp } from '../use-app.ts';
import type { RequestView } from './request-view.ts';

/** What was asked for before, and what became of it. */
export function PublicationHistory({ requests }: { requests: readonly RequestView[] }) {
  const { tenant } = useApp();
  return (
    <div>
      <Title order={3} size="h5" mb="xs">
        Earlier requests
      </Title>
      <DataTable
        label="Earlier requests"
        minWidth={260}
        highlightOnHover={false}
        verticalSpacing={7}
        rows={requests}
        keyOf={({ id }) => id}
        columns={[
          {
            head: 'Asked for',
            cell: ({ id, visibility, reason }) => (
              <>
                <LinkTo to={consolePaths.review(tenant.slug, id)}>{visibilityNames[visibility]}</LinkTo>
                {reason && (
                  <Text size="sm" c="dimmed" lineClamp={2}>
                    {reason}
                  </Text>
                )}
              </>
            ),
          },
          { head: 'Became', cell: ({ status }) => <StateBadge state={status} /> },
          {
            head: 'When',
            cell: (request) => <TimeText value={request.decided_at ?? request.requested_at} />,
          },
        ]}
      />
    </div>
  );
}
