import { Table, Text, Title } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
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
      <Table.ScrollContainer minWidth={420}>
        <Table aria-label="Earlier requests">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Asked for</Table.Th>
              <Table.Th>Became</Table.Th>
              <Table.Th>When</Table.Th>
              <Table.Th>Said</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {requests.map((request) => (
              <Table.Tr key={request.id}>
                <Table.Td>
                  <LinkTo to={consolePaths.review(tenant.slug, request.id)}>
                    {visibilityNames[request.visibility]}
                  </LinkTo>
                </Table.Td>
                <Table.Td>
                  <StateBadge state={request.status} />
                </Table.Td>
                <Table.Td>
                  <TimeText value={request.decided_at ?? request.requested_at} />
                </Table.Td>
                <Table.Td>
                  <Text size="sm" lineClamp={2}>
                    {request.reason || '–'}
                  </Text>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </div>
  );
}
