import { Stack, Table, Text } from '@mantine/core';
import { listMyApps } from '@svc/contract/app-lists.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { type listPats, revokePat } from '@svc/contract/identity.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { listMembers } from '@svc/contract/tenants.ts';
import { useTenant } from '../../api/me.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { useChange } from '../../change/use-change.ts';
import { ProblemAlert } from '../../parts/problem-alert.tsx';
import { StateBadge } from '../../parts/state-badge.tsx';
import { TimeText } from '../../parts/time-text.tsx';
import { RowButton } from '../admin/row-button.tsx';
import { shortId } from '../admin/use-names.ts';

type Pat = Answer<NonNullable<typeof listPats.shape>>['items'][number];

export function TokenList({ tokens, whose }: { tokens: readonly Pat[]; whose: 'mine' | 'everyone' }) {
  const tenant = useTenant();
  const ask = { params: { tenantID: tenant.id }, query: { per_page: perPageMax } };
  const apps = useAnswer(listMyApps, ask).data?.items ?? [];
  const members = useAnswer(listMembers, ask, { enabled: whose === 'everyone' }).data?.items ?? [];
  const revoke = useChange(revokePat, {
    title: 'Revoke a token',
    verb: 'Revoke',
    done: 'The token is revoked.',
  });
  const appName = (id: string) => apps.find((app) => app.id === id)?.name ?? shortId(id);
  const ownerName = (id: string) => members.find((one) => one.user_id === id)?.name ?? shortId(id);
  return (
    <>
      {revoke.problem !== null && <ProblemAlert error={revoke.problem} />}
      <Table.ScrollContainer minWidth={760}>
        <Table highlightOnHover verticalSpacing="sm" aria-label="Access tokens">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Token</Table.Th>
              {whose === 'everyone' && <Table.Th>Of</Table.Th>}
              <Table.Th>May</Table.Th>
              <Table.Th>Apps</Table.Th>
              <Table.Th>State</Table.Th>
              <Table.Th>Expires</Table.Th>
              <Table.Th>Last used</Table.Th>
              <Table.Th>Actions</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {tokens.map((token) => (
              <Table.Tr key={token.id}>
                <Table.Td>
                  <Stack gap={0}>
                    <Text fw={600}>{token.name}</Text>
                    <Text size="sm" c="dimmed" className="mono">
                      svcpat_…{token.hint}
                    </Text>
                  </Stack>
                </Table.Td>
                {whose === 'everyone' && <Table.Td>{ownerName(token.user_id)}</Table.Td>}
                <Table.Td>{token.actions.join(', ')}</Table.Td>
                <Table.Td>
                  {token.apps.length === 0 ? 'all its owner reaches' : token.apps.map(appName).join(', ')}
                </Table.Td>
                <Table.Td>
                  <StateBadge state={token.status} />
                </Table.Td>
                <Table.Td>
                  <TimeText value={token.expires_at} />
                </Table.Td>
                <Table.Td>
                  <TimeText value={token.last_used_at} empty="never" />
                </Table.Td>
                <Table.Td>
                  <RowButton
                    verb="Revoke"
                    name={`token ${token.name}, ends in ${token.hint}`}
                    why={
                      token.status === 'active' ? null : `It is ${token.status} already; it opens nothing.`
                    }
                    onClick={() => void revoke.propose({ params: { tenantID: tenant.id, patID: token.id } })}
                  />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </>
  );
}
