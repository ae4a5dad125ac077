import { Accordion, Button, Group, Stack, Text } from '@mantine/core';
import type { Answer } from '@svc/contract/endpoint.ts';
import type { listAuditEntries } from '@svc/contract/tenants.ts';
import { CopyText } from '../../../parts/copy-text.tsx';
import { TimeText } from '../../../parts/time-text.tsx';
import { Facts } from '../facts.tsx';
import { AuditChanges } from './audit-changes.tsx';

export type AuditEntry = Answer<NonNullable<typeof listAuditEntries.shape>>['items'][number];

export function AuditItem({
  entry,
  showAction,
  showTarget,
}: {
  entry: AuditEntry;
  showAction: () => void;
  showTarget: () => void;
}) {
  const { seq, at, actor, action, target, changes, request_id: requestId, hash } = entry;
  return (
    <Accordion.Item value={String(seq)}>
      <Accordion.Control>
        <Group gap="xs">
          <Text span size="sm" fw={600} className="mono">
            {action}
          </Text>
          <Text span size="sm">
            {target.kind.replaceAll('_', ' ')} {target.name || target.id}
          </Text>
          <Text span size="sm" c="dimmed">
            by {actor.name || actor.kind}, <time dateTime={at}>{new Date(at).toLocaleString()}</time>
          </Text>
        </Group>
      </Accordion.Control>
      <Accordion.Panel>
        <Stack>
          <AuditChanges changes={changes} />
          <Facts
            label={`Entry ${seq}`}
            facts={[
              ['Number', seq],
              ['When', <TimeText key="at" value={at} />],
              [
                'Who',
                <Stack key="actor" gap={2}>
                  {actor.name || actor.kind} ({actor.kind})
                  {actor.id && <CopyText value={actor.id} label="actor id" size="xs" />}
                </Stack>,
              ],
              [
                'What',
                <Stack key="target" gap={2}>
                  {target.kind} {target.name}
                  {target.id && <CopyText value={target.id} label="target id" size="xs" />}
                </Stack>,
              ],
              ['Request id', <CopyText key="request" value={requestId} label="request id" size="xs" />],
              ['Hash', <CopyText key="hash" value={hash} label="hash" size="xs" />],
            ]}
          />
          <Group gap="xs">
            <Button size="compact-sm" variant="default" onClick={showAction}>
              Only {action}
            </Button>
            {target.id && (
              <Button size="compact-sm" variant="default" onClick={showTarget}>
                Only this {target.kind.replaceAll('_', ' ')}
              </Button>
            )}
          </Group>
        </Stack>
      </Accordion.Panel>
    </Accordion.Item>
  );
}
