import { Stack, Text, VisuallyHidden } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import type { listPublications } from '@svc/contract/review.ts';
import { DataTable } from '../../parts/data-table.tsx';
import { LinkTo } from '../../parts/link-to.tsx';
import { StateBadge } from '../../parts/state-badge.tsx';
import { TimeText } from '../../parts/time-text.tsx';
import { visibilityNames } from '../../parts/visibility-texts.ts';

type Requests = Answer<NonNullable<typeof listPublications.shape>>['items'];

export function RequestTable({ tenant, requests }: { tenant: string; requests: Requests }) {
  return (
    <DataTable
      label="Requests"
      minWidth={640}
      rows={requests}
      keyOf={({ id }) => id}
      columns={[
        {
          head: 'App',
          cell: (request) => (
            <Stack gap={0}>
              <LinkTo to={consolePaths.review(tenant, request.id)} fw={600}>
                {request.app_name || request.app_slug || 'An app that is gone'}
              </LinkTo>
              <Text size="sm" c="dimmed" lineClamp={1}>
                {request.note || request.app_slug}
              </Text>
            </Stack>
          ),
        },
        {
          head: 'Seen by',
          cell: (request) => (
            <>
              {visibilityNames[request.visibility_before]}
              <VisuallyHidden> becomes </VisuallyHidden>
              <span aria-hidden> → </span>
              <strong>{visibilityNames[request.visibility]}</strong>
            </>
          ),
        },
        { head: 'Status', cell: ({ status }) => <StateBadge state={status} /> },
        { head: 'Asked by', cell: (request) => request.requested_by_email },
        { head: 'When', cell: (request) => <TimeText value={request.requested_at} /> },
      ]}
    />
  );
}
