import { Stack, Text } from '@mantine/core';
import { listMyApps } from '@svc/contract/app-lists.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { type listPats, revokePat } from '@svc/contract/identity.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { listMembers } from '@svc/contract/tenants.ts';
import { useTenant } from '../../api/me.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { useChange } from '../../change/use-change.ts';
import { DataTable } from '../../parts/data-table.tsx';
import { ProblemAlert } from '../../parts/problem-alert.tsx';
import { StateBadge } from '../../parts/state-badge.tsx';
import { TimeText } from '../../parts/time-text.tsx';
import { RowButton } from '../admin/row-button.tsx';
import { shortId } from '../admin/use-tenant-names.ts';

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
      <DataTable
        label="Access tokens"
        minWidth={760}
        rows={tokens}
        keyOf={({ id }) => id}
        columns={[
          {
            head: 'Token',
            cell: ({ name, hint }) => (
              <Stack gap={0}>
                <Text fw={600}>{name}</Text>
                <Text size="sm" c="dimmed" className="mono">
                  svcpat_…{hint}
                </Text>
              </Stack>
            ),
          },
          ...(whose === 'everyone' ? [{ head: 'Of', cell: (token: Pat) => ownerName(token.user_id) }] : []),
          { head: 'May', cell: ({ actions }) => actions.join(', ') },
          {
            head: 'Apps',
            cell: (token) =>
              token.apps.length === 0 ? 'all its owner reaches' : token.apps.map(appName).join(', '),
          },
          { head: 'State', cell: ({ status }) => <StateBadge state={status} /> },
          { head: 'Expires', cell: (token) => <TimeText value={token.expires_at} /> },
          { head: 'Last used', cell: (token) => <TimeText value={token.last_used_at} empty="never" /> },
          {
            head: 'Actions',
            cell: ({ id, name, hint, status }) => (
              <RowButton
                verb="Revoke"
                name={`token ${name}, ends in ${hint}`}
                why={status === 'active' ? null : `It is ${status} already; it opens nothing.`}
                onClick={() => void revoke.propose({ params: { tenantID: tenant.id, patID: id } })}
              />
            ),
          },
        ]}
      />
    </>
  );
}
