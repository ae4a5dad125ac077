import { Stack, Table, Text, VisuallyHidden } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import type { listPublications } from '@svc/contract/review.ts';
import { LinkTo } from '../../parts/link-to.tsx';
import { StateBadge } from '../../parts/state-badge.tsx';
import { TimeText } from '../../parts/time-text.tsx';
import { visibilityNames } from '../../parts/visibility-texts.ts';

type Requests = Answer<NonNullable<typeof listPublications.shape>>['items'];

export function RequestTable({ tenant, requests }: { tenant: string; requests: Requests }) {
  return (
    <Table.ScrollContainer minWidth={640}>
      <Table highlightOnHover verticalSpacing="sm" aria-label="Requests">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>App</Table.Th>
            <Table.Th>Seen by</Table.Th>
            <Table.Th>Status</Table.Th>
            <Table.Th>Asked by</Table.Th>
            <Table.Th>When</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {requests.map((request) => (
            <Table.Tr key={request.id}>
              <Table.Td>
                <Stack gap={0}>
                  <LinkTo to={consolePaths.review(tenant, request.id)} fw={600}>
                    {request.app_name || request.app_slug || 'An app that is gone'}
                  </LinkTo>
                  <Text size="sm" c="dimmed" lineClamp={1}>
                    {request.note || request.app_slug}
                  </Text>
                </Stack>
              </Table.Td>
              <Table.Td>
                {visibilityNames[request.visibility_before]}
                <VisuallyHidden> becomes </VisuallyHidden>
                <span aria-hidden> → </span>
                <strong>{visibilityNames[request.visibility]}</strong>
              </Table.Td>
              <Table.Td>
                <StateBadge state={request.status} />
              </Table.Td>
              <Table.Td>{request.requested_by_email}</Table.Td>
              <Table.Td>
                <TimeText value={request.requested_at} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
