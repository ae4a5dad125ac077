import { Alert, Button, Code, CopyButton, Group, Modal, SegmentedControl, Stack, Text } from '@mantine/core';
import { listMyApps } from '@svc/contract/app-lists.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { listPats, revokePat } from '@svc/contract/identity.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { listMembers } from '@svc/contract/tenants.ts';
import { IconAlertTriangle, IconCheck, IconCopy, IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { useChange } from '../../change/use-change.ts';
import { RowButton } from '../../components/buttons.tsx';
import { DataTable, NameCell } from '../../components/data-table.tsx';
import { StateBadge, TimeText } from '../../components/display.tsx';
import { useRestoreFocus } from '../../components/focus.ts';
import { EmptyState, PageHead } from '../../components/page-layout.tsx';
import { PagedList } from '../../components/paged-list.tsx';
import { ProblemAlert } from '../../components/problem-alert.tsx';
import { Hint, SecondaryButton } from '../../components/text.tsx';
import { usePage, useUrlValue } from '../../components/url-state.ts';
import { shortId } from '../admin/fields.tsx';
import { NewToken } from './new-token.tsx';

export default function TokensPage() {
  const tenant = useTenant();
  const page = usePage();
  const [isNew, setNew] = useUrlValue('new');
  const [whose, setWhose] = useUrlValue('whose');
  const [secret, setSecret] = useState<string | null>(null);
  const isAdmin = tenant.role === 'tenant_admin';
  const all = isAdmin && whose === 'everyone';
  const answer = useEndpoint(listPats, {
    params: { tenantID: tenant.id },
    query: { page, all: all ? 'true' : 'false' },
  });
  const create = (
    <Button
      leftSection={<IconPlus size={16} aria-hidden />}
      onClick={() => setNew('1')}
      data-opens="new-token"
    >
      New token
    </Button>
  );
  return (
    <>
      <PageHead
        title="Access tokens"
        lead={
          <>
            Tokens let programs act on your behalf: read or write rows, use git, or deploy. A token can do
            only what it was created for. Send it as <Code>X-Api-Key</Code>, or to git as the password.
          </>
        }
        actions={isNew === '' && create}
      />
      <Stack>
        {isNew !== '' && (
          <NewToken
            close={() => setNew('')}
            onCreated={(created) => {
              setNew('');
              setSecret(created);
            }}
          />
        )}
        {isAdmin && (
          <SegmentedControl
            aria-label="Whose tokens"
            data={[
              { value: '', label: 'Mine' },
              { value: 'everyone', label: 'Everyone’s' },
            ]}
            value={all ? 'everyone' : ''}
            onChange={setWhose}
            style={{ alignSelf: 'flex-start' }}
          />
        )}
        <div>
          <PagedList
            answer={answer}
            empty={
              <EmptyState
                title={all ? 'No tokens' : 'No tokens yet'}
                command="svc pats create --name ci --actions deploy --execute"
                action={isNew === '' && create}
              >
                <Text span inherit>
                  Use a token in a script, CI job or server that works with your tables, code or deployments.
                  It never has more access than you.
                </Text>
              </EmptyState>
            }
          >
            {(items) => <TokenList tokens={items} whose={all ? 'everyone' : 'mine'} />}
          </PagedList>
        </div>
      </Stack>
      {secret !== null && <SecretDialog secret={secret} close={() => setSecret(null)} />}
    </>
  );
}

type Pat = Answer<NonNullable<typeof listPats.shape>>['items'][number];

function TokenList({ tokens, whose }: { tokens: readonly Pat[]; whose: 'mine' | 'everyone' }) {
  const tenant = useTenant();
  const ask = { params: { tenantID: tenant.id }, query: { per_page: perPageMax } };
  const apps = useEndpoint(listMyApps, ask).data?.items ?? [];
  const members = useEndpoint(listMembers, ask, { enabled: whose === 'everyone' }).data?.items ?? [];
  const revoke = useChange(revokePat, { title: 'Revoke a token', done: 'Token revoked.' });
  const appName = (id: string) => apps.find((app) => app.id === id)?.name ?? shortId(id);
  const ownerName = (id: string) => members.find((one) => one.user_id === id)?.name ?? shortId(id);
  return (
    <>
      <ProblemAlert error={revoke.problem} />
      <DataTable
        label="Access tokens"
        minWidth={760}
        rows={tokens}
        columns={[
          {
            head: 'Token',
            cell: ({ name, hint }) => (
              <NameCell name={name} description={`svcpat_…${hint}`} className="mono" />
            ),
          },
          ...(whose === 'everyone'
            ? [{ head: 'Owner', cell: (token: Pat) => ownerName(token.user_id) }]
            : []),
          { head: 'Actions', cell: ({ actions }) => actions.join(', ') },
          {
            head: 'Apps',
            cell: (token) =>
              token.apps.length === 0 ? 'all apps of the owner' : token.apps.map(appName).join(', '),
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
                why={status === 'active' ? null : `The token is already ${status}.`}
                onClick={() => void revoke.propose({ params: { tenantID: tenant.id, patID: id } })}
              />
            ),
          },
        ]}
      />
    </>
  );
}

/** The server returns the secret only once, so the dialog closes only by its buttons. */
function SecretDialog({ secret, close }: { secret: string; close: () => void }) {
  useRestoreFocus();
  return (
    <Modal
      opened
      onClose={close}
      title="Your new token"
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <Stack>
        <Alert color="yellow" icon={<IconAlertTriangle aria-hidden />}>
          Copy the token now: it is shown only once and not stored. Store it with the secrets of your program,
          never in its code.
        </Alert>
        <Code block aria-label="Token" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {secret}
        </Code>
        <Group>
          <CopyButton value={secret}>
            {({ copied, copy }) => (
              <SecondaryButton
                onClick={copy}
                leftSection={
                  copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />
                }
                data-autofocus
              >
                {copied ? 'Copied' : 'Copy token'}
              </SecondaryButton>
            )}
          </CopyButton>
        </Group>
        <Hint>
          Send it with each request: <Code>X-Api-Key: &lt;API_KEY&gt;</Code>. The command line reads it from{' '}
          <Code>SVC_API_KEY</Code>.
        </Hint>
        <Group justify="flex-end">
          <Button onClick={close}>I have saved it</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
