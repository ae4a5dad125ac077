import { Group, List, Stack, Text, TextInput } from '@mantine/core';
import {
  getGrant,
  grantStates,
  reasonCharsMax,
  replaceGrantScope,
  revokeGrant,
} from '@svc/contract/grants.ts';
import { useTenant } from '../../../api/me.ts';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { CopyText } from '../../../components/buttons.tsx';
import { DetailTable } from '../../../components/data-table.tsx';
import { ActionBadges, StateBadge, TimeText } from '../../../components/display.tsx';
import { FormCard } from '../../../components/form-card.tsx';
import { SmallLink } from '../../../components/page-layout.tsx';
import { Heading } from '../../../components/text.tsx';
import { useForm } from '../../../components/use-form.ts';
import { useTenantNames } from '../fields.tsx';
import { AdminItem, adminPath, BackToList } from '../form-page.tsx';
import type { Grant } from './grant-table.tsx';
import { parseScope } from './scope.ts';
import { ScopeField } from './scope-field.tsx';

export function GrantView({ id }: { id: string }) {
  const tenant = useTenant();
  const answer = useEndpoint(getGrant, { params: { tenantID: tenant.id, grantID: id } });
  return (
    <AdminItem tab="grants" what="grant" answer={answer}>
      {(grant) => (
        <Stack>
          <BackToList tab="grants" />
          <GrantFacts grant={grant} />
          <GrantChanges grant={grant} />
        </Stack>
      )}
    </AdminItem>
  );
}

function GrantFacts({ grant }: { grant: Grant }) {
  const tenant = useTenant();
  const names = useTenantNames();
  const preset = names.presets.find((one) => one.id === grant.preset_id);
  const title = `${names.subjectName(grant)} on ${names.connectorName(grant.connector_id)}`;
  return (
    <>
      <Heading>{title}</Heading>
      <DetailTable
        label={title}
        details={{
          Status: <StateBadge state={grant.status} />,
          Preset: (
            <Group gap={6}>
              {names.presetName(grant.preset_id)}
              <ActionBadges actions={preset?.actions ?? []} />
            </Group>
          ),
          Policies:
            grant.policy_ids.length === 0 ? (
              'none: all rows and columns within the scope'
            ) : (
              <List size="sm">
                {grant.policy_ids.map((policy) => (
                  <List.Item key={policy}>
                    <SmallLink to={adminPath(tenant.slug, 'policies', policy)}>
                      {names.policyName(policy)}
                    </SmallLink>
                  </List.Item>
                ))}
              </List>
            ),
          Granted: (
            <>
              <TimeText value={grant.granted_at} /> by {names.memberName(grant.granted_by)} ({grant.source})
            </>
          ),
          Expires: <TimeText value={grant.expires_at} empty="never" />,
          Revoked: grant.revoked_at !== '' && (
            <>
              <TimeText value={grant.revoked_at} /> by {names.memberName(grant.revoked_by)}
            </>
          ),
          Reason: grant.reason || 'none',
          'Grant id': <CopyText value={grant.id} label="grant id" />,
        }}
      />
    </>
  );
}

function GrantChanges({ grant }: { grant: Grant }) {
  const tenant = useTenant();
  const params = { tenantID: tenant.id, grantID: grant.id };
  const whyNot = (move: keyof typeof grantStates) =>
    grantStates[move].some((state) => state === grant.status)
      ? null
      : `The grant is ${grant.status}. Create a new one.`;
  const scopeRecord = { scope_resource_paths: grant.scope_resource_paths.join('\n') };
  const scopeForm = useForm(replaceGrantScope, scopeRecord, {
    title: 'Replace the scope',
    verb: 'Replace scope',
    done: 'Scope replaced.',
    whyNot: (values) => {
      const { fault } = parseScope(values.scope_resource_paths);
      return whyNot('replaceScope') ?? (fault && `The scope ${fault}.`);
    },
    input: (values) => ({ params, body: parseScope(values.scope_resource_paths).entries }),
  });
  const revokeRecord = { reason: '' };
  const revokeForm = useForm(revokeGrant, revokeRecord, {
    title: 'Revoke the grant',
    done: 'Grant revoked.',
    whyNot: () => whyNot('revoke'),
    input: (body) => ({ params, body }),
  });
  return (
    <>
      <FormCard title="Scope" form={scopeForm} submit="Replace scope">
        <ScopeField {...scopeForm.field('scope_resource_paths')} />
      </FormCard>
      <FormCard title="Revoke" form={revokeForm} submit="Revoke grant" color="red">
        <Text size="sm">Access ends at once. A revoked grant stays in the list and cannot be restored.</Text>
        <TextInput
          {...revokeForm.field('reason')}
          description="Stored in the audit log; optional."
          maxLength={reasonCharsMax}
        />
      </FormCard>
    </>
  );
}
