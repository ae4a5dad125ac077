import { Group, Paper, SimpleGrid, Stack, Text } from '@mantine/core';
import { type listDomains, removeDomain, verifyDomain } from '@svc/contract/domains.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { client } from '../../../api/client.ts';
import { useChange } from '../../../change/use-change.ts';
import { ActionButton, ChangeButton, CopyText } from '../../../components/buttons.tsx';
import { DataTable } from '../../../components/data-table.tsx';
import { relativeTime, StateBadge, TimeText } from '../../../components/display.tsx';
import { ExternalLink } from '../../../components/page-layout.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { Hint, Mono, SubHeading } from '../../../components/text.tsx';
import { useToast } from '../../../components/toasts.tsx';
import { whyNotActive } from '../rules.ts';
import { useApp } from '../use-app.tsx';

export function DomainCard({ domain }: { domain: Domain }) {
  const { host, host_unicode: name, status } = domain;
  return (
    <Paper withBorder p="md" component="article" aria-label={`Domain ${name}`}>
      <Stack gap="md">
        <Group justify="space-between" align="flex-start">
          <Stack gap={2} miw={0}>
            <Group gap="sm">
              <SubHeading>
                {status === 'active' ? (
                  <ExternalLink to={domain.url} inherit>
                    {name}
                  </ExternalLink>
                ) : (
                  name
                )}
              </SubHeading>
              <StateBadge state={status} />
            </Group>
            {host !== name && <Hint className="mono">{host}</Hint>}
            <Hint>
              {domain.disconnected_for && `${disconnectReasons[domain.disconnected_for]} `}
              {domain.last_checked_at ? (
                <>
                  Checked <TimeText value={domain.last_checked_at} />.
                </>
              ) : (
                'Not checked yet.'
              )}{' '}
              {nextCheckText(domain)}
            </Hint>
          </Stack>
          <DomainButtons domain={domain} />
        </Group>
        <DomainChecks domain={domain} />
        <DnsRecords domain={domain} />
      </Stack>
    </Paper>
  );
}

function nextCheckText({ next_check_at: next }: Domain): string {
  if (next === null) return 'Automatic checks have ended.';
  const ms = new Date(next).getTime() - Date.now();
  return ms < 60_000 ? 'The next check runs in a moment.' : `Next check ${relativeTime(ms)}.`;
}

const disconnectReasons: Record<NonNullable<Domain['disconnected_for']>, string> = {
  not_verified: 'The DNS records were not found in time.',
  records_wrong: 'The DNS records pointed elsewhere for too long.',
  certificate_expired: 'The certificate expired and could not be renewed.',
  claimed_elsewhere: 'Somebody else has proved ownership.',
};

function DomainButtons({ domain }: { domain: Domain }) {
  const { app, params: appParams, why } = useApp();
  const queries = useQueryClient();
  const showToast = useToast();
  const params = { ...appParams, domain: domain.id };
  // A check only: the contract has no preview for it, and nothing can be lost.
  const verify = useMutation({
    mutationFn: () => client.call(verifyDomain, { params }),
    onSuccess: async ({ status, host_unicode: name }) => {
      showToast(
        status === 'active' ? `${name} is active.` : `${name} was checked. See below what is still missing.`,
      );
      await queries.invalidateQueries();
    },
  });
  const remove = useChange(removeDomain, {
    title: `Remove ${domain.host_unicode}`,
    done: `${domain.host_unicode} is removed.`,
  });
  return (
    <Stack gap="xs" align="flex-end">
      <Group gap="sm">
        <ActionButton
          why={why(verifyDomain) ?? whyNotActive(app)}
          loading={verify.isPending}
          onClick={() => verify.mutate()}
        >
          Verify now
        </ActionButton>
        <ChangeButton why={why(removeDomain)} change={remove} input={{ params }}>
          Remove
        </ChangeButton>
      </Group>
      <ProblemAlert error={verify.error} />
      <ProblemAlert error={remove.problem} />
    </Stack>
  );
}

function DomainChecks({ domain }: { domain: Domain }) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 3 }}>
      <DomainCheck
        name="Ownership"
        what="A TXT record proves that you own the domain."
        check={domain.ownership}
      />
      <DomainCheck name="Routing" what="The domain points to this platform." check={domain.routing} />
      <DomainCheck name="Certificate" what="Connections are encrypted." check={domain.certificate} />
    </SimpleGrid>
  );
}

function DomainCheck({ name, what, check }: { name: string; what: string; check: Check }) {
  return (
    <Stack gap={4} align="flex-start" miw={0} style={{ overflowWrap: 'anywhere' }}>
      <Text fw={600}>
        {name}{' '}
        {check.reason === 'not_configured' ? (
          <StateBadge state="none" label="not checked" />
        ) : (
          <StateBadge state={check.state} />
        )}
      </Text>
      <Text size="sm">{check.reason === null ? what : checkReasons[check.reason]}</Text>
      {check.found.length > 0 && check.state !== 'ok' && (
        <Text size="sm">
          Found: <Mono>{check.found.join(', ')}</Mono>
        </Text>
      )}
      {check.next_step !== '' && <Text size="sm">{check.next_step}</Text>}
    </Stack>
  );
}

const checkReasons: Record<NonNullable<Check['reason']>, string> = {
  not_checked: 'Not checked yet.',
  dns_unavailable: 'The name servers did not respond, so the records are unknown.',
  missing: 'The record does not exist.',
  mismatch: 'The record has another value.',
  active_elsewhere: 'Somebody else owns and uses the domain.',
  not_configured: 'Not managed here.',
  not_ordered: 'Ordered once ownership and routing are verified.',
  ordered: 'Ordered; this takes a minute or two.',
  caa_forbids: 'A CAA record of the domain forbids the certificate.',
  expired: 'The certificate has expired.',
  order_failed: 'The certificate order failed.',
};

const purposes: Record<Domain['records'][number]['purpose'], string> = {
  ownership: 'proves ownership',
  routing: 'routes visitors',
};

function DnsRecords({ domain }: { domain: Domain }) {
  return (
    <Stack gap={4}>
      <Text fw={600}>
        {domain.status === 'active' ? 'DNS records to keep' : 'Publish these records at your DNS provider'}
      </Text>
      <DataTable
        label={`DNS records of ${domain.host_unicode}`}
        minWidth={620}
        verticalSpacing={4}
        rows={domain.records}
        keyOf={({ type, name, value }) => `${type} ${name} ${value}`}
        columns={[
          { head: 'Type', cell: ({ type }) => type, th: { w: 70 }, td: { style: { whiteSpace: 'nowrap' } } },
          {
            head: 'Name',
            cell: ({ type, name }) => <CopyText value={name} label={`name of the ${type} record`} />,
          },
          {
            head: 'Value',
            cell: ({ type, value }) => <CopyText value={value} label={`value of the ${type} record`} />,
          },
          { head: 'Purpose', cell: ({ purpose }) => purposes[purpose] },
        ]}
      />
    </Stack>
  );
}

type Domain = Answer<NonNullable<typeof listDomains.shape>>['items'][number];
type Check = Domain['ownership'];
