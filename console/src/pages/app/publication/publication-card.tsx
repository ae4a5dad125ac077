import { Alert, Group, Stack, Text } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { listPublicationsOfApp, requestPublication, withdrawPublication } from '@svc/contract/review.ts';
import { getSite } from '@svc/contract/static-sites.ts';
import { IconClock, IconWorld } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useMe } from '../../../api/me.ts';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { useChange } from '../../../change/use-change.ts';
import { ActionButton, ChangeButton } from '../../../components/buttons.tsx';
import { DataTable } from '../../../components/data-table.tsx';
import { StateBadge, TimeText } from '../../../components/display.tsx';
import { visibilityNames, visibleTo } from '../../../components/format.ts';
import { LinkTo, Section } from '../../../components/page-layout.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { Hint, SubHeading } from '../../../components/text.tsx';
import { useUrlValue } from '../../../components/url-state.ts';
import { whyNotPublish } from '../rules.ts';
import { useApp } from '../use-app.tsx';
import { PublicationForm } from './publication-form.tsx';
import { hasPending, type PublicationRequest } from './publication-request.ts';

const shownMax = 5;
const pendingMs = 5_000;

export function PublicationCard() {
  const { app, params, why } = useApp();
  const [publish, setPublish] = useUrlValue('publish');
  const isThere = app.record !== 'deleted';
  const mayLook = isThere && why(listPublicationsOfApp) === null;
  const requests = useEndpoint(
    listPublicationsOfApp,
    { params, query: { per_page: shownMax } },
    { enabled: mayLook, refetchMs: (last) => (hasPending(last?.items ?? []) ? pendingMs : false) },
  );
  const mayAsk = isThere && why(requestPublication) === null;
  const site = useEndpoint(getSite, { params }, { enabled: mayAsk && app.deploy_method === 'static' });
  const open = requests.data?.items.find(({ status }) => status === 'pending');
  const queries = useQueryClient();
  const waiting = useRef<string | null>(null);
  useEffect(() => {
    if (requests.data === undefined) return;
    const before = waiting.current;
    waiting.current = open?.id ?? null;
    if (before !== null && before !== waiting.current) void queries.invalidateQueries();
  }, [requests.data, open?.id, queries]);
  const past = requests.data?.items.filter(({ status }) => status !== 'pending') ?? [];
  const staged = site.data?.staged_release ?? null;
  const active = site.data?.active_release ?? null;
  const reason =
    why(requestPublication) ??
    whyNotPublish(app, { hasOpen: open !== undefined, hasStaged: staged !== null });
  return (
    <Section title="Visibility">
      <Group gap="xs">
        <StateBadge state={app.visibility} label={visibilityNames[app.visibility]} />
        <Text>Visible to {visibleTo[app.visibility]}.</Text>
      </Group>
      {open && <OpenRequest request={open} />}
      {publish === 'yes' && reason === null ? (
        <PublicationForm staged={staged} active={active} close={() => setPublish('')} />
      ) : (
        (mayLook || app.relation !== 'none') && (
          <Stack gap="xs" align="flex-start">
            <ActionButton
              why={reason}
              icon={IconWorld}
              onClick={() => setPublish('yes')}
              data-opens="publication"
            >
              Request publication
            </ActionButton>
          </Stack>
        )
      )}
      {past.length > 0 && <PublicationHistory requests={past} />}
    </Section>
  );
}

function OpenRequest({ request }: { request: PublicationRequest }) {
  const { tenant, why } = useApp();
  const me = useMe();
  const withdraw = useChange(withdrawPublication, { title: 'Withdraw request', done: 'Request withdrawn.' });
  return (
    <Alert color="yellow" icon={<IconClock aria-hidden />} title="Waiting for review">
      <Stack gap="xs">
        <Text size="sm" component="div">
          {request.pinned === 'built' ? (
            <>
              A new deployment was built <TimeText value={request.requested_at} />. It goes live when another
              tenant admin approves it.
            </>
          ) : (
            <>
              {request.requested_by_email} requested <TimeText value={request.requested_at} /> to make it{' '}
              <strong>{visibilityNames[request.visibility]}</strong>. Another tenant admin decides.
            </>
          )}
        </Text>
        <ProblemAlert error={withdraw.problem} />
        <Group gap="md">
          <LinkTo to={consolePaths.review(tenant.slug, request.id)} size="sm" c="inherit" td="underline">
            Open request
          </LinkTo>
          <ChangeButton
            size="compact-sm"
            why={request.requested_by === me.id ? null : why(withdrawPublication)}
            change={withdraw}
            input={{ params: { tenantID: tenant.id, request: request.id } }}
          >
            Withdraw request
          </ChangeButton>
        </Group>
      </Stack>
    </Alert>
  );
}

function PublicationHistory({ requests }: { requests: readonly PublicationRequest[] }) {
  const { tenant } = useApp();
  return (
    <div>
      <SubHeading mb="xs">Earlier requests</SubHeading>
      <DataTable
        label="Earlier requests"
        minWidth={260}
        verticalSpacing={7}
        rows={requests}
        columns={[
          {
            head: 'Requested',
            cell: ({ id, visibility, reason, pinned }) => (
              <>
                <LinkTo to={consolePaths.review(tenant.slug, id)}>
                  {pinned === 'built' ? 'New deployment' : visibilityNames[visibility]}
                </LinkTo>
                {reason && <Hint lineClamp={2}>{reason}</Hint>}
              </>
            ),
          },
          { head: 'Status', cell: ({ status }) => <StateBadge state={status} /> },
          {
            head: 'Time',
            cell: (request) => <TimeText value={request.decided_at ?? request.requested_at} />,
          },
        ]}
      />
    </div>
  );
}
