import { Select, TextInput } from '@mantine/core';
import { tenantRoles } from '@svc/contract/identity.ts';
import { uuidPattern } from '@svc/contract/limits.ts';
import { listMembers, removeMember, setMember } from '@svc/contract/tenants.ts';
import { IconSearch } from '@tabler/icons-react';
import { useMe, useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { useChange } from '../../change/use-change.ts';
import { CopyText, RowButton } from '../../components/buttons.tsx';
import { DataTable, NameCell } from '../../components/data-table.tsx';
import { StateBadge, TimeText } from '../../components/display.tsx';
import { EmptyState } from '../../components/page-layout.tsx';
import { ListHead, PagedList } from '../../components/paged-list.tsx';
import { ProblemAlerts } from '../../components/problem-alert.tsx';
import { usePage, useUrlText } from '../../components/url-state.ts';
import { AdminRoutes, adminPath, FormPage, useAdminForm } from './form-page.tsx';

export default function MembersTab() {
  return <AdminRoutes list={MemberList} create={AddMember} />;
}

function MemberList() {
  const tenant = useTenant();
  const me = useMe();
  const [typed, type, q] = useUrlText('q');
  const page = usePage();
  const answer = useEndpoint(listMembers, {
    params: { tenantID: tenant.id },
    query: q === '' ? { page } : { q, page },
  });
  const setRole = useChange(setMember, {
    title: 'Change a role',
    verb: 'Change role',
    done: 'Role changed.',
  });
  const remove = useChange(removeMember, { title: 'Remove a member', done: 'Member removed.' });
  const params = (userID: string) => ({ tenantID: tenant.id, userID });
  return (
    <>
      <ListHead to={adminPath(tenant.slug, 'members', 'new')} label="Add member">
        <TextInput
          label="Search"
          placeholder="Name or e-mail address"
          value={typed}
          onChange={(event) => type(event.currentTarget.value)}
          leftSection={<IconSearch size={16} aria-hidden />}
          type="search"
          maxLength={200}
        />
      </ListHead>
      <ProblemAlerts changes={[setRole, remove]} />
      <PagedList
        answer={answer}
        empty={
          <EmptyState title="No member found" command="svc members list --q anna">
            The search matches part of a name or e-mail address.
          </EmptyState>
        }
      >
        {(items) => (
          <DataTable
            label="Members"
            minWidth={760}
            rows={items}
            keyOf={(member) => member.user_id}
            columns={[
              {
                head: 'Member',
                cell: (member) => (
                  <NameCell
                    name={member.user_id === me.id ? `${member.name} (you)` : member.name}
                    description={member.email}
                  />
                ),
              },
              {
                head: 'Role',
                cell: (member) => (
                  <Select
                    aria-label={`Role of ${member.name}`}
                    data={roleData}
                    value={member.role}
                    onChange={(role) =>
                      role &&
                      void setRole.propose({ params: params(member.user_id), body: { role: role as Role } })
                    }
                    allowDeselect={false}
                    size="xs"
                    w={120}
                  />
                ),
              },
              { head: 'State', cell: (member) => <StateBadge state={member.status} /> },
              { head: 'Since', cell: (member) => <TimeText value={member.since} /> },
              {
                head: 'User id',
                cell: (member) => (
                  <CopyText value={member.user_id} label={`user id of ${member.name}`} size="xs" />
                ),
              },
              {
                head: 'Actions',
                cell: (member) => (
                  <RowButton
                    verb="Remove"
                    name={member.name}
                    onClick={() => void remove.propose({ params: params(member.user_id) })}
                  />
                ),
              },
            ]}
          />
        )}
      </PagedList>
    </>
  );
}

/** By id: an e-mail address would reveal to an admin whether a stranger has an account. */
function AddMember() {
  const tenant = useTenant();
  const record = { user_id: '', role: 'tenant_member' as Role };
  const form = useAdminForm(setMember, 'members', record, {
    title: 'Add a member',
    done: 'Member added.',
    errors: ({ user_id }) => ({
      user_id: uuidPattern.test(user_id.trim())
        ? null
        : 'must be the id of a user, such as 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c',
    }),
    input: ({ user_id, role }) => ({
      params: { tenantID: tenant.id, userID: user_id.trim().toLowerCase() },
      body: { role },
    }),
  });
  return (
    <FormPage tab="members" title="Add a member" submit="Add member" form={form}>
      <TextInput
        {...form.field('user_id')}
        label="User id"
        description="People find their id with “svc whoami”, operators with “svc-admin users list”."
        autoComplete="off"
        required
        maw={460}
        classNames={{ input: 'mono' }}
      />
      <Select
        {...form.field('role')}
        description="Admins manage the tenant: members, grants, reviews. The role gives no access to the data of apps."
        data={roleData}
        allowDeselect={false}
        maw={460}
      />
    </FormPage>
  );
}

type Role = (typeof tenantRoles)[number];

const roleLabels: Record<Role, string> = { tenant_member: 'member', tenant_admin: 'admin' };

const roleData = tenantRoles.map((value) => ({ value, label: roleLabels[value] }));
