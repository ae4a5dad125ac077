import { Anchor, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { StateBadge } from '../../../parts/state-badge.tsx';
import { relativeTime, TimeText } from '../../../parts/time-text.tsx';
import { DnsRecords } from './dns-records.tsx';
import { DomainButtons } from './domain-buttons.tsx';
import { DomainChecks } from './domain-checks.tsx';
import type { DomainView } from './domain-view.ts';

export function DomainCard({ domain }: { domain: DomainView }) {
  const { host, host_unicode: name, status } = domain;
  return (
    <Paper withBorder p="md" component="article" aria-label={`Domain ${name}`}>
      <Stack gap="md">
        <Group justify="space-between" align="flex-start">
          <Stack gap={2} miw={0}>
            <Group gap="sm">
              <Title order={3} size="h5">
                {status === 'active' ? (
                  <Anchor href={domain.url} target="_blank" rel="noreferrer" inherit>
                    {name}
                  </Anchor>
                ) : (
                  name
                )}
              </Title>
              <StateBadge state={status} />
            </Group>
            {host !== name && (
              <Text size="sm" c="dimmed" className="mono">
                {host}
              </Text>
            )}
            <Text size="sm" c="dimmed">
              {domain.disconnected_for && `${lost[domain.disconnected_for]} `}
              {domain.last_checked_at ? (
                <>
                  Looked at <TimeText value={domain.last_checked_at} />.
                </>
              ) : (
                'Not looked at yet.'
              )}{' '}
              {nextText(domain)}
            </Text>
          </Stack>
          <DomainButtons domain={domain} />
        </Group>
        <DomainChecks domain={domain} />
        <DnsRecords domain={domain} />
      </Stack>
    </Paper>
  );
}

function nextText({ next_check_at: next }: DomainView): string {
  if (next === null) return 'It is not looked at by itself any more.';
  const ms = new Date(next).getTime() - Date.now();
  return ms < 60_000 ? 'It is looked at again in a moment.' : `It is looked at again ${relativeTime(ms)}.`;
}

const lost: Record<NonNullable<DomainView['disconnected_for']>, string> = {
  not_verified: 'Its records were not found in time.',
  records_wrong: 'Its records led elsewhere for too long.',
  certificate_expired: 'Its certificate expired and could not be renewed.',
  claimed_elsewhere: 'Somebody else proved that it is theirs.',
};
