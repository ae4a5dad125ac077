import { SimpleGrid, Stack, Text } from '@mantine/core';
import { StateBadge } from '../../../parts/state-badge.tsx';
import type { Check, DomainView } from './domain-view.ts';

/** The three things that make a domain answer, each with what is wrong and what to do about it. */
export function DomainChecks({ domain }: { domain: DomainView }) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 3 }}>
      <OneCheck
        name="Ownership"
        what="A TXT record proves that the name is yours."
        check={domain.ownership}
      />
      <OneCheck name="Routing" what="The name leads to this platform." check={domain.routing} />
      <OneCheck
        name="Certificate"
        what="Visitors come by a connection that nobody else reads."
        check={domain.certificate}
      />
    </SimpleGrid>
  );
}

function OneCheck({ name, what, check }: { name: string; what: string; check: Check }) {
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
      <Text size="sm">{check.reason === null ? what : reasons[check.reason]}</Text>
      {check.found.length > 0 && check.state !== 'ok' && (
        <Text size="sm">
          Found:{' '}
          <Text span size="sm" className="mono">
            {check.found.join(', ')}
          </Text>
        </Text>
      )}
      {check.next_step !== '' && <Text size="sm">{check.next_step}</Text>}
    </Stack>
  );
}

const reasons: Record<NonNullable<Check['reason']>, string> = {
  not_checked: 'Not looked at yet.',
  dns_unavailable: 'Its name servers did not answer; that says nothing about the records.',
  missing: 'The record is not there.',
  mismatch: 'There is another record in its place.',
  active_elsewhere: 'The name is in use by somebody else who proved that it is theirs.',
  not_configured: 'Not looked after here.',
  not_ordered: 'Ordered once ownership and routing are right.',
  ordered: 'Ordered; it takes a minute or two.',
  caa_forbids: 'A CAA record of the domain forbids it.',
  expired: 'It has expired.',
  order_failed: 'The order failed.',
};
