import { Badge, Group, List, Stack, Title } from '@mantine/core';
import { getGrant } from '@svc/contract/grants.ts';
import { useTenant } from '../../../api/me.ts';
import { isCode } from '../../../api/query-client.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { CopyText } from '../../../parts/copy-text.tsx';
import { LinkTo } from '../../../parts/link-to.tsx';
import { StateBadge } from '../../../parts/state-badge.tsx';
import { TimeText } from '../../../parts/time-text.tsx';
import { adminPath } from '../admin-path.ts';
import { Facts } from '../facts.tsx';
import { BackLink } from '../form-frame.tsx';
import { NoSuchThing } from '../no-such-thing.tsx';
import { useTenantNames } from '../use-tenant-names.ts';
import { GrantChanges } from './grant-changes.tsx';
import type { GrantRecord } from './grant-table.tsx';

export function GrantView({ id }: { id: string }) {
  const tenant = useTenant();
  const answer = useAnswer(getGrant, { params: { tenantID: tenant.id, grantID: id } });
  const back = { to: adminPath(tenant.slug, 'grants'), label: 'All grants' };
  if (isCode(answer.error, 'not_found') || isCode(answer.error, 'validation_failed'))
    return <NoSuchThing error={answer.error} what="grant" back={back} />;
  return (
    <Stack>
      <BackLink {...back} />
      <AnswerView answer={answer} lines={8}>
        {(grant) => (
          <>
            <GrantFacts grant={grant} />
            <GrantChanges key={grant.id} grant={grant} />
          </>
        )}
      </AnswerView>
    </Stack>
  );
}

function GrantFacts({ grant }: { grant: GrantRecord }) {
  const tenant = useTenant();
  const names = useTenantNames();
  const preset = names.presets.find((one) => one.id === grant.preset_id);
  const title = `${names.memberName(grant.subject_id)} on ${names.connectorName(grant.connector_id)}`;
  return (
    <>
      <Title order={2} size="h4">
        {title}
      </Title>
      <Facts
        label={title}
        facts={[
          ['Status', <StateBadge key="status" state={grant.status} />],
          [
            'Preset',
            <Group key="preset" gap={6}>
              {names.presetName(grant.preset_id)}
              {preset?.actions.map((action) => (
                <Badge key={action} variant="default" radius="sm" tt="none">
                  {action}
                </Badge>
              ))}
            </Group>,
          ],
          [
            'Policies',
            grant.policy_ids.length === 0 ? (
              'none: all rows and columns within the scope'
            ) : (
              <List key="policies" size="sm">
                {grant.policy_ids.map((policy) => (
                  <List.Item key={policy}>
                    <LinkTo to={adminPath(tenant.slug, 'policies', policy)} size="sm">
                      {names.policyName(policy)}
                    </LinkTo>
                  </List.Item>
                ))}
              </List>
            ),
          ],
          [
            'Granted',
            <span key="granted">
              <TimeText value={grant.granted_at} /> by {names.memberName(grant.granted_by)} ({grant.source})
            </span>,
          ],
          ['Expires', <TimeText key="expires" value={grant.expires_at} empty="never" />],
          ...(grant.revoked_at === ''
            ? []
            : [
                [
                  'Revoked',
                  <span key="revoked">
                    <TimeText value={grant.revoked_at} /> by {names.memberName(grant.revoked_by)}
                  </span>,
                ] as const,
              ]),
          ['Reason', grant.reason || 'none given'],
          ['Grant id', <CopyText key="id" value={grant.id} label="grant id" />],
        ]}
      />
    </>
  );
}
