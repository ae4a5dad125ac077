import { Group, SimpleGrid, Stack, Textarea, TextInput } from '@mantine/core';
import type { Answer } from '@svc/contract/endpoint.ts';
import {
  addGroupMember,
  createGroup,
  deleteGroup,
  getGroup,
  groupDescriptionCharsMax,
  groupNameCharsMax,
  listGroupMembers,
  listGroups,
  removeGroupMember,
  updateGroup,
} from '@svc/contract/groups.ts';
import { slugFromName } from '@svc/contract/slug-from-name.ts';
import { useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { useChange } from '../../change/use-change.ts';
import { RowButton } from '../../components/buttons.tsx';
import { DataTable, NameCell } from '../../components/data-table.tsx';
import { StateBadge, TimeText } from '../../components/display.tsx';
import { descriptionBelow, FormElement, SubmitButton } from '../../components/form-card.tsx';
import { EmptyState, Section } from '../../components/page-layout.tsx';
import { PagedList } from '../../components/paged-list.tsx';
import { ProblemAlert } from '../../components/problem-alert.tsx';
import { Heading, Hint } from '../../components/text.tsx';
import { usePage } from '../../components/url-state.ts';
import { type Form, useForm } from '../../components/use-form.ts';
import { MemberSelect } from './fields.tsx';
import {
  AdminItem,
  AdminList,
  AdminRoutes,
  adminPath,
  BackToList,
  FormPage,
  useAdminForm,
} from './form-page.tsx';

export default function GroupsTab() {
  return <AdminRoutes list={GroupList} create={NewGroup} item={GroupPage} />;
}

type TenantGroup = Answer<NonNullable<typeof getGroup.shape>>;

const sources: Record<TenantGroup['source'], string> = {
  local: 'by hand',
  claim: 'OpenID provider',
  scim: 'directory (SCIM)',
};

function GroupList() {
  const tenant = useTenant();
  const params = { tenantID: tenant.id };
  const answer = useEndpoint(listGroups, { params, query: { page: usePage() } });
  const remove = useChange(deleteGroup, { title: 'Delete a group', done: 'Group deleted.' });
  return (
    <AdminList
      tab="groups"
      noun="group"
      answer={answer}
      problem={<ProblemAlert error={remove.problem} />}
      command="svc groups create engineers --execute"
      lead="A group can have grants, table grants and invitations to apps. They apply to its members while they are in it."
      label="Groups"
      minWidth={640}
      columns={[
        {
          head: 'Group',
          cell: ({ id, display_name, description }) => (
            <NameCell
              to={adminPath(tenant.slug, 'groups', id)}
              name={display_name}
              description={description}
              lineClamp={2}
            />
          ),
        },
        { head: 'Name', cell: ({ name }) => name, td: { className: 'mono' } },
        { head: 'Managed', cell: ({ source }) => sources[source] },
        { head: 'Members', cell: ({ member_count }) => member_count },
        {
          head: 'Actions',
          cell: ({ id, name }) => (
            <RowButton
              verb="Delete"
              name={`group ${name}`}
              onClick={() => void remove.propose({ params: { ...params, group: id } })}
            />
          ),
        },
      ]}
    />
  );
}

const emptyGroup = { display_name: '', name: '', description: '' };

function NewGroup() {
  const tenant = useTenant();
  const form = useAdminForm(createGroup, 'groups', emptyGroup, {
    title: 'Create a group',
    done: 'Group created.',
    input: ({ name, ...body }) => ({
      params: { tenantID: tenant.id },
      body: { ...body, name: name || (slugFromName(body.display_name) ?? '') },
    }),
  });
  return (
    <FormPage tab="groups" title="New group" submit="Save group" form={form}>
      <GroupFields form={form} />
    </FormPage>
  );
}

function GroupFields({ form }: { form: Form<typeof emptyGroup> }) {
  const { field } = form;
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput {...field('display_name')} label="Display name" maxLength={groupNameCharsMax} required />
        <TextInput
          {...field('name')}
          label="Short name"
          description="Used in commands."
          inputWrapperOrder={descriptionBelow}
          placeholder={slugFromName(form.values.display_name) ?? ''}
          classNames={{ input: 'mono' }}
        />
      </SimpleGrid>
      <Textarea {...field('description')} maxLength={groupDescriptionCharsMax} />
    </>
  );
}

function GroupPage({ id }: { id: string }) {
  const tenant = useTenant();
  const answer = useEndpoint(getGroup, { params: { tenantID: tenant.id, group: id } });
  return (
    <AdminItem tab="groups" what="group" answer={answer}>
      {(group) => (
        <Stack>
          {group.source === 'local' ? <EditGroup group={group} /> : <ManagedGroup group={group} />}
          <Members group={group} />
        </Stack>
      )}
    </AdminItem>
  );
}

function EditGroup({ group }: { group: TenantGroup }) {
  const tenant = useTenant();
  const { id, name, display_name, description } = group;
  const form = useAdminForm(
    updateGroup,
    'groups',
    { name, display_name, description },
    {
      title: 'Update a group',
      verb: 'Save',
      done: 'Group saved.',
      input: (body) => ({ params: { tenantID: tenant.id, group: id }, body }),
    },
  );
  return (
    <FormPage tab="groups" title={display_name} submit="Save group" form={form}>
      <GroupFields form={form} />
    </FormPage>
  );
}

function ManagedGroup({ group }: { group: TenantGroup }) {
  return (
    <>
      <BackToList tab="groups" />
      <Heading>{group.display_name}</Heading>
      <Hint>
        {group.source === 'scim'
          ? 'The directory of the organisation decides the members (SCIM).'
          : 'A claim of the OpenID provider decides the members, each time they sign in.'}
      </Hint>
    </>
  );
}

function Members({ group }: { group: TenantGroup }) {
  const tenant = useTenant();
  const params = { tenantID: tenant.id, group: group.id };
  const answer = useEndpoint(listGroupMembers, { params, query: { page: usePage() } });
  const remove = useChange(removeGroupMember, { title: 'Remove from the group', done: 'Member removed.' });
  const isLocal = group.source === 'local';
  return (
    <Section title="Members" lead="Members get everything that is granted to the group.">
      <ProblemAlert error={remove.problem} />
      <PagedList
        answer={answer}
        empty={<EmptyState title="No members yet">Nobody is in the group.</EmptyState>}
      >
        {(items) => (
          <DataTable
            label="Members"
            minWidth={520}
            rows={items}
            keyOf={(member) => member.user_id}
            columns={[
              { head: 'Member', cell: ({ name, email }) => <NameCell name={name} description={email} /> },
              { head: 'State', cell: ({ status }) => <StateBadge state={status} /> },
              { head: 'Since', cell: ({ since }) => <TimeText value={since} /> },
              {
                head: 'Actions',
                cell: ({ user_id: userID, name }) =>
                  isLocal && (
                    <RowButton
                      verb="Remove"
                      name={name}
                      onClick={() => void remove.propose({ params: { ...params, userID } })}
                    />
                  ),
              },
            ]}
          />
        )}
      </PagedList>
      {isLocal && <AddMember group={group} />}
    </Section>
  );
}

function AddMember({ group }: { group: TenantGroup }) {
  const tenant = useTenant();
  const form = useForm(
    addGroupMember,
    { user_id: '' },
    {
      title: 'Add to the group',
      verb: 'Add',
      done: 'Member added.',
      whyNot: ({ user_id }) => (user_id === '' ? 'Choose a member first.' : null),
      input: (body) => ({ params: { tenantID: tenant.id, group: group.id }, body }),
    },
  );
  return (
    <FormElement form={form} aria-label="Add a member">
      <Group align="flex-end" gap="sm">
        <MemberSelect {...form.field('user_id')} label="Member" w={{ base: '100%', xs: 320 }} />
        <SubmitButton form={form}>Add</SubmitButton>
      </Group>
      <ProblemAlert error={form.problem} />
    </FormElement>
  );
}
