import { Anchor, Select, Textarea, TextInput } from '@mantine/core';
import type { Answer } from '@svc/contract/endpoint.ts';
import { tenantRoles } from '@svc/contract/identity.ts';
import { uuidPattern } from '@svc/contract/limits.ts';
import { getMember, listMembers, removeMember, setMember, updateMember } from '@svc/contract/tenants.ts';
import { IconSearch } from '@tabler/icons-react';
import { Link } from 'wouter';
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
import { AdminItem, AdminRoutes, adminPath, FormPage, useAdminForm } from './form-page.tsx';

export default function MembersTab() {
  return <AdminRoutes list={MemberList} create={AddMember} item={MemberPage} />;
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
              {
                head: 'Attributes',
                cell: (member) => (
                  <Anchor
                    component={Link}
                    href={adminPath(tenant.slug, 'members', member.user_id)}
                    aria-label={`Attributes of ${member.name}`}
                    size="sm"
                  >
                    {Object.keys(member.attributes).length === 0
                      ? 'none'
                      : attributeLines(member.attributes).join(', ')}
                  </Anchor>
                ),
              },
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

/** Members are added by id: an e-mail address would reveal to an admin whether a stranger has an account. */
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

function MemberPage({ id }: { id: string }) {
  const tenant = useTenant();
  const answer = useEndpoint(getMember, { params: { tenantID: tenant.id, userID: id } });
  return (
    <AdminItem tab="members" what="member" answer={answer}>
      {(member) => <Attributes member={member} />}
    </AdminItem>
  );
}

type Member = Answer<NonNullable<typeof getMember.shape>>;

const attributeLines = (attributes: Member['attributes']) =>
  Object.entries(attributes).map(([name, value]) => `${name}=${value}`);

/** Attributes that are no longer listed are removed. */
function Attributes({ member }: { member: Member }) {
  const tenant = useTenant();
  const record = { attributes: attributeLines(member.attributes).join('\n') };
  const lines = (text: string) => text.split('\n').filter((line) => line.trim() !== '');
  const form = useAdminForm(updateMember, 'members', record, {
    title: 'Change attributes',
    done: 'Attributes changed.',
    errors: ({ attributes }) => ({
      attributes: lines(attributes).every((line) => line.includes('='))
        ? null
        : 'must be lines of name=value',
    }),
    input: ({ attributes }) => {
      const removed = Object.keys(member.attributes).map((name) => [name, '']);
      const set = lines(attributes).map((line) => {
        const at = line.indexOf('=');
        return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
      });
      return {
        params: { tenantID: tenant.id, userID: member.user_id },
        body: { attributes: Object.fromEntries([...removed, ...set]) },
      };
    },
  });
  return (
    <FormPage tab="members" title={`Attributes of ${member.name}`} submit="Change attributes" form={form}>
      <Textarea
        {...form.field('attributes')}
        description="One name=value per line. Filters of rows use them: @me.region is the attribute region of the caller."
        placeholder="region=eu"
        autosize
        minRows={4}
        maw={460}
        classNames={{ input: 'mono' }}
      />
    </FormPage>
  );
}

type Role = (typeof tenantRoles)[number];

const roleLabels: Record<Role, string> = { tenant_member: 'member', tenant_admin: 'admin' };

const roleData = tenantRoles.map((value) => ({ value, label: roleLabels[value] }));
