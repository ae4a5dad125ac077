import { Stack, Table, Text } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { LinkTo } from '../../../parts/link-to.tsx';
import { StateBadge } from '../../../parts/state-badge.tsx';
import { TimeText } from '../../../parts/time-text.tsx';
import { useApp } from '../use-app.ts';
import { useNames } from '../use-names.ts';
import { type Deployment, durationText, tookMs } from './deployment-phases.ts';
import { reasonText, sourceText } from './deployment-texts.ts';

export function DeploymentTable({ deployments }: { deployments: readonly Deployment[] }) {
  const { app, tenant } = useApp();
  const nameOf = useNames();
  const now = new Date();
  return (
    <Table.ScrollContainer minWidth={680}>
      <Table highlightOnHover verticalSpacing="sm" aria-label="Deployments">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Deployment</Table.Th>
            <Table.Th>State</Table.Th>
            <Table.Th>Of what</Table.Th>
            <Table.Th>By</Table.Th>
            <Table.Th>When</Table.Th>
            <Table.Th>Took</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {deployments.map((one) => (
            <Table.Tr key={one.id}>
              <Table.Td>
                <LinkTo to={consolePaths.deployment(tenant.slug, app.slug, one.id)} fw={600}>
                  #{one.seq}
                </LinkTo>
              </Table.Td>
              <Table.Td>
                <StateBadge state={one.state} />
              </Table.Td>
              <Table.Td>
                <Stack gap={0} maw={360}>
                  <Text size="sm" className="mono">
                    {sourceText(one)}
                  </Text>
                  <Text size="sm" c="dimmed" lineClamp={1}>
                    {one.failure ? one.failure.detail : one.commit_message}
                  </Text>
                </Stack>
              </Table.Td>
              <Table.Td>{nameOf(one.created_by) ?? reasonText(one)}</Table.Td>
              <Table.Td>
                <TimeText value={one.created_at} />
              </Table.Td>
              <Table.Td style={{ whiteSpace: 'nowrap' }}>{durationText(tookMs(one, now))}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
