import {
  Badge,
  Checkbox,
  Group,
  List,
  NativeSelect,
  SegmentedControl,
  Stack,
  TextInput,
} from '@mantine/core';
import { listCoOwners } from '@svc/contract/apps.ts';
import { grantsPerTableMax } from '@svc/contract/columns.ts';
import {
  issueTableGrant,
  listTableGrants,
  principalTypes,
  revokeTableGrant,
  type tableActions,
} from '@svc/contract/tables.ts';
import { IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { useChange } from '../../../change/use-change.ts';
import { ActionButton } from '../../../components/buttons.tsx';
import { DataTable } from '../../../components/data-table.tsx';
import { FormDialog } from '../../../components/dialog.tsx';
import { TimeText } from '../../../components/display.tsx';
import { EmptyState } from '../../../components/page-layout.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { QueryView } from '../../../components/query-view.tsx';
import { BoldText, Heading, Hint } from '../../../components/text.tsx';
import { useForm } from '../../../components/use-form.ts';
import { useApp } from '../use-app.tsx';
import { RulesPart } from './rules-part.tsx';
import { useTable } from './use-table.ts';

export function AccessView() {
  return (
    <Stack gap="xl">
      <RulesPart />
      <OwnersPart />
      <GrantsPart />
    </Stack>
  );
}

function OwnersPart() {
  const { table } = useTable();
  const { params } = useApp();
  const answer = useEndpoint(listCoOwners, { params, query: { per_page: 200 } });
  return (
    <Stack gap="sm">
      <Heading order={3}>Access without a grant</Heading>
      <QueryView answer={answer} lines={2}>
        {({ items }) => (
          <List size="sm" spacing={4}>
            <List.Item>
              The owners read and write all rows: {items.map(({ name, email }) => name || email).join(', ')}.
            </List.Item>
            <List.Item>People who sign in through the app may do what the rules say.</List.Item>
            <List.Item>
              A personal access token has the access of its creator, within its own limits.
            </List.Item>
            <List.Item>
              Everybody else needs a grant below; without one the table does not exist for them.
            </List.Item>
          </List>
        )}
      </QueryView>
      {table.owner_column !== null && (
        <Hint>
          Rows belong to the user in {table.owner_column}: people with a grant see and change only their own
          rows.
        </Hint>
      )}
    </Stack>
  );
}

function GrantsPart() {
  const { table, app, params, why, whyNotAlter } = useTable();
  const [isOpen, setOpen] = useState(false);
  const answer = useEndpoint(listTableGrants, { params, query: { per_page: grantsPerTableMax } });
  const revoke = useChange(revokeTableGrant, {
    title: 'Revoke the grant',
    verb: 'Revoke grant',
    done: 'Grant revoked.',
  });
  const issue = (
    <ActionButton
      variant="filled"
      why={whyNotAlter(issueTableGrant)}
      icon={IconPlus}
      onClick={() => setOpen(true)}
    >
      Grant access
    </ActionButton>
  );
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Heading order={3}>Table grants</Heading>
        {issue}
      </Group>
      <ProblemAlert error={revoke.problem} />
      <QueryView answer={answer} lines={2}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState
              title="No grants yet"
              command={`svc tables grants issue --app ${app.slug} --table ${table.name} --principal-type role --principal-id tenant_member --actions read --execute`}
            >
              Only the app has access to the table. A grant gives access to a person, a group, another app, or
              everybody with a role.
            </EmptyState>
          ) : (
            <DataTable
              label="Table grants"
              minWidth={560}
              verticalSpacing="xs"
              rows={items}
              columns={[
                {
                  head: 'Grantee',
                  cell: (grant) => (
                    <>
                      <BoldText>{principalName(grant)}</BoldText>
                      <Hint>{principalLabels[grant.principal_type]}</Hint>
                    </>
                  ),
                },
                {
                  head: 'Allowed',
                  cell: ({ actions }) => (
                    <Group gap={4}>
                      {actions.map((action) => (
                        <Badge key={action} variant="light" tt="none">
                          {action}
                        </Badge>
                      ))}
                    </Group>
                  ),
                },
                { head: 'Since', cell: (grant) => <TimeText value={grant.created_at} /> },
                {
                  head: 'Actions',
                  cell: (grant) => (
                    <ActionButton
                      why={why(revokeTableGrant)}
                      size="compact-sm"
                      onClick={() => void revoke.propose({ params: { ...params, grantID: grant.id } })}
                      aria-label={`Revoke the grant of ${principalName(grant)}`}
                    >
                      Revoke
                    </ActionButton>
                  ),
                },
              ]}
            />
          )
        }
      </QueryView>
      {isOpen && <IssueDialog onClose={() => setOpen(false)} />}
    </Stack>
  );
}

const hints: Record<Exclude<PrincipalType, 'role'>, { label: string; description: string }> = {
  user: { label: 'Person', description: 'E-mail address or user id of a member of the tenant' },
  app: { label: 'App', description: 'Slug or id of an app that you can see' },
  group: { label: 'Group', description: 'Name or id of a group of the tenant' },
};

function IssueDialog({ onClose }: { onClose: () => void }) {
  const { table, params } = useTable();
  const record = {
    principal_type: 'user' as PrincipalType,
    principal_id: '',
    role: 'tenant_member',
    actions: ['read'] as (typeof tableActions)[number][],
  };
  const principal = ({ principal_type, principal_id, role }: typeof record) =>
    principal_type === 'role' ? role : principal_id.trim();
  const form = useForm(issueTableGrant, record, {
    title: 'Grant access',
    verb: 'Issue grant',
    done: 'Grant issued.',
    onDone: onClose,
    whyNot: (grant) => {
      if (principal(grant) === '') return 'Enter who gets access first.';
      return grant.actions.length === 0 ? 'Choose at least one action first.' : null;
    },
    input: ({ role, ...grant }) => ({
      params,
      body: { ...grant, principal_id: principal({ role, ...grant }) },
    }),
  });
  const type = form.values.principal_type;
  const { label: _, error: __, ...segments } = form.field('principal_type');
  return (
    <FormDialog form={form} onClose={onClose} title={`Grant access to ${table.name}`}>
      <SegmentedControl
        {...segments}
        aria-label="Kind of grantee"
        data={principalTypes.map((value) => ({ value, label: principalLabels[value] }))}
      />
      {type === 'role' ? (
        <NativeSelect
          {...form.field('role')}
          data={Object.entries(roleLabels).map(([value, label]) => ({ value, label }))}
        />
      ) : (
        <TextInput {...form.field('principal_id')} {...hints[type]} autoComplete="off" />
      )}
      <Checkbox.Group {...form.field('actions')} label="Allowed actions">
        <Group mt="xs">
          <Checkbox value="read" label="read rows" />
          <Checkbox value="write" label="write rows" />
        </Group>
      </Checkbox.Group>
      <Hint>
        {table.owner_column === null ? 'The grant covers all rows.' : 'The grant covers only their own rows.'}
      </Hint>
    </FormDialog>
  );
}

type PrincipalType = (typeof principalTypes)[number];

const principalLabels: Record<PrincipalType, string> = {
  user: 'Person',
  app: 'App',
  role: 'Role',
  group: 'Group',
};

const roleLabels: Record<string, string> = {
  tenant_member: 'all members of the tenant',
  tenant_admin: 'admins of the tenant',
};

function principalName(grant: {
  principal_type: PrincipalType;
  principal_id: string;
  principal_name: string;
}): string {
  if (grant.principal_type === 'role') return roleLabels[grant.principal_id] ?? grant.principal_id;
  return grant.principal_name || `${grant.principal_id} (deleted)`;
}
