import {
  Alert,
  Autocomplete,
  Group,
  List,
  Paper,
  Select,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { checkAccess } from '@svc/contract/grants.ts';
import { IconCheck, IconX } from '@tabler/icons-react';
import { useSearchParams } from 'wouter';
import { useTenant } from '../../../api/me.ts';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { ActionButton } from '../../../components/buttons.tsx';
import { LinkTo } from '../../../components/page-layout.tsx';
import { QueryView } from '../../../components/query-view.tsx';
import { Heading, Hint } from '../../../components/text.tsx';
import { useFields } from '../../../components/use-form.ts';
import { MemberSelect, shortId, useTenantNames } from '../fields.tsx';
import { adminPath } from '../form-page.tsx';

const reasons: Record<string, string> = {
  granted: 'Allowed by an active grant.',
  no_active_grant: 'The member has no active grant on this connector.',
  action_not_in_preset: 'The member has a grant on this connector, but its preset does not allow the action.',
  subject_not_active: 'The member is suspended or deactivated, so no grant gives them access.',
  out_of_scope: 'The member has a grant with the action, but its scope does not cover the resource.',
};

export function AccessCheck() {
  const tenant = useTenant();
  const names = useTenantNames();
  const [search, setSearch] = useSearchParams();
  const checked = {
    subject: search.get('subject') ?? '',
    connector: search.get('connector') ?? '',
    action: search.get('action') ?? 'read',
    path: search.get('path') ?? '',
  };
  const { values: draft, field, select, set } = useFields(checked);
  const isReady = draft.subject !== '' && draft.connector !== '' && draft.action !== '';
  const answer = useEndpoint(
    checkAccess,
    {
      params: { tenantID: tenant.id },
      body: {
        subject_id: checked.subject,
        connector_id: checked.connector,
        action: checked.action,
        resource_path: checked.path,
      },
    },
    { enabled: checked.subject !== '' && checked.connector !== '' },
  );
  return (
    <Paper withBorder p="lg" radius="md" component="section" aria-labelledby="access-check">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady)
            setSearch(new URLSearchParams(Object.entries(draft).filter(([, value]) => value !== '')));
        }}
      >
        <Stack>
          <Heading id="access-check">Access check</Heading>
          <Hint>
            Checks whether a member may perform an action on a connector, with the grants and policies
            involved.
          </Hint>
          <SimpleGrid cols={{ base: 1, sm: 2, lg: 4 }}>
            <MemberSelect {...field('subject')} label="Member" />
            <Select
              {...select('connector')}
              placeholder="Choose one"
              data={names.connectors.map(({ id, name }) => ({ value: id, label: name }))}
              searchable
            />
            <Autocomplete
              {...field('action')}
              data={['read', 'export', 'insert', 'update', 'delete']}
              maxLength={64}
            />
            <TextInput
              {...field('path')}
              label="Resource path"
              placeholder="whole connector"
              onChange={(event) => set({ path: event.currentTarget.value.trim() })}
              classNames={{ input: 'mono' }}
            />
          </SimpleGrid>
          <Group>
            <ActionButton
              type="submit"
              why={isReady ? null : 'Choose a member, a connector and an action first.'}
              onClick={() => {}}
            >
              Check access
            </ActionButton>
          </Group>
          {checked.subject !== '' && checked.connector !== '' && (
            <QueryView answer={answer} lines={2}>
              {(decision) => (
                <Alert
                  color={decision.allowed ? 'green' : 'red'}
                  icon={decision.allowed ? <IconCheck aria-hidden /> : <IconX aria-hidden />}
                  title={decision.allowed ? 'Allowed' : 'Not allowed'}
                  role="status"
                >
                  <Text size="sm">{reasons[decision.reason] ?? decision.reason}</Text>
                  <List size="sm" mt={4}>
                    {[
                      ...decision.grant_ids.map((id) => ['grants', id, `Grant ${shortId(id)}`] as const),
                      ...decision.policy_ids.map(
                        (id) => ['policies', id, `Policy ${names.policyName(id)}`] as const,
                      ),
                    ].map(([tab, id, label]) => (
                      <List.Item key={id}>
                        <LinkTo to={adminPath(tenant.slug, tab, id)} size="sm" c="inherit" td="underline">
                          {label}
                        </LinkTo>
                      </List.Item>
                    ))}
                  </List>
                </Alert>
              )}
            </QueryView>
          )}
        </Stack>
      </form>
    </Paper>
  );
}
