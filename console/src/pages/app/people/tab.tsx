import { Group, Select, Stack, TextInput } from '@mantine/core';
import { addCoOwner, removeCoOwner } from '@svc/contract/apps.ts';
import { consolePaths } from '@svc/contract/console-paths.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { addAppMember, listAppMembers, removeAppMember } from '@svc/contract/owners.ts';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { useMe } from '../../../api/me.ts';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { useChange } from '../../../change/use-change.ts';
import { ActionButton, ChangeButton } from '../../../components/buttons.tsx';
import { DataTable } from '../../../components/data-table.tsx';
import { TimeText } from '../../../components/display.tsx';
import { FormElement, SubmitButton } from '../../../components/form-card.tsx';
import { EmptyState, Section } from '../../../components/page-layout.tsx';
import { PagedList } from '../../../components/paged-list.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { BoldText, Hint, SubHeading } from '../../../components/text.tsx';
import { usePage } from '../../../components/url-state.ts';
import { useForm } from '../../../components/use-form.ts';
import { whyNotRemove } from '../rules.ts';
import { useApp } from '../use-app.tsx';
import { AccessRequestsCard } from './access-requests.tsx';
import { ConsentCard } from './consent-card.tsx';
import { RolesCard } from './roles-card.tsx';
import { ServiceAccountsCard } from './service-accounts.tsx';
import { TransferForm } from './transfer-form.tsx';

export default function PeopleTab() {
  const { app, why } = useApp();
  const reason = why(listAppMembers);
  if (app.record === 'deleted')
    return (
      <EmptyState title="The app is deleted" command={`svc apps restore ${app.slug} --execute`}>
        Restore the app to see and change its people.
      </EmptyState>
    );
  if (reason !== null)
    return (
      <EmptyState
        title="You have no access to the people of this app"
        action={app.relation === 'member' ? <LeaveButton /> : undefined}
      >
        Only the owner, co-owners and tenant admins see them. Ask the owner, {app.owner_name}.
      </EmptyState>
    );
  return (
    <Stack gap="md">
      <AccessRequestsCard />
      <PeopleCard />
      <RolesCard />
      <ServiceAccountsCard />
      <ConsentCard />
      <TransferForm />
    </Stack>
  );
}

function LeaveButton() {
  const { params, tenant } = useApp();
  const me = useMe();
  const [, go] = useLocation();
  const leave = useChange(removeAppMember, {
    title: 'Leave the app',
    done: 'You have left the app.',
    onDone: () => go(consolePaths.apps(tenant.slug)),
  });
  return (
    <>
      <ChangeButton change={leave} input={{ params: { ...params, userID: me.id } }}>
        Leave the app
      </ChangeButton>
      <ProblemAlert error={leave.problem} />
    </>
  );
}

function PeopleCard() {
  const { params } = useApp();
  const answer = useEndpoint(listAppMembers, { params, query: { page: usePage() } });
  return (
    <Section
      title="People"
      lead="Owners can change the app. Invited people and groups can use it when its visibility allows invitations."
    >
      <div>
        <PagedList answer={answer}>{(items) => <PersonTable people={items} />}</PagedList>
      </div>
      <AddPerson />
    </Section>
  );
}

type Person = Answer<NonNullable<typeof listAppMembers.shape>>['items'][number];

const roles: Record<Person['role'], string> = {
  owner: 'Owner',
  co_owner: 'Co-owner',
  member: 'Invited',
};

const idOf = ({ user_id, group }: Person) => user_id ?? group?.id ?? '';

function PersonTable({ people }: { people: readonly Person[] }) {
  const { app, tenant, params } = useApp();
  const me = useMe();
  const endCoOwner = useChange(removeCoOwner, { title: 'Remove a co-owner', done: 'Co-owner removed.' });
  const endMember = useChange(removeAppMember, {
    title: 'Withdraw an invitation',
    done: 'Invitation withdrawn.',
  });
  const remove = (person: Person) =>
    void (person.role === 'co_owner' ? endCoOwner : endMember).propose({
      params: { ...params, userID: idOf(person) },
    });
  return (
    <Stack gap="sm">
      <DataTable
        label="People"
        minWidth={520}
        highlightOnHover={false}
        rows={people}
        keyOf={idOf}
        columns={[
          {
            head: 'Name',
            cell: (person) => (
              <Stack gap={0}>
                <BoldText>
                  {person.name || person.email}
                  {person.user_id === me.id && ' (you)'}
                </BoldText>
                <Hint>
                  {person.group
                    ? `Group ${person.group.name}, ${person.group.member_count} members`
                    : person.email}
                </Hint>
              </Stack>
            ),
          },
          { head: 'Role', cell: ({ role }) => roles[role] },
          { head: 'Since', cell: ({ since }) => <TimeText value={since} /> },
          {
            head: 'Actions',
            cell: (person) => (
              <Group>
                <ActionButton
                  size="compact-sm"
                  why={whyNotRemove(person, { id: me.id, role: tenant.role, relation: app.relation })}
                  onClick={() => remove(person)}
                  aria-label={`Remove ${person.name || person.email}`}
                >
                  Remove
                </ActionButton>
              </Group>
            ),
          },
        ]}
      />
      <ProblemAlert error={endCoOwner.problem} />
      <ProblemAlert error={endMember.problem} />
    </Stack>
  );
}

/** People are added by e-mail address: only admins may list the members of the tenant. */
function AddPerson() {
  const { params, why } = useApp();
  const [role, setRole] = useState<'co_owner' | 'member' | 'group'>('member');
  const isGroup = role === 'group';
  const isCoOwner = role === 'co_owner';
  const endpoint = (isCoOwner ? addCoOwner : addAppMember) as typeof addAppMember;
  const record = { user_id: '' };
  const form = useForm(endpoint, record, {
    title: isCoOwner ? 'Add a co-owner' : `Invite a ${isGroup ? 'group' : 'person'}`,
    verb: isCoOwner ? 'Add' : 'Invite',
    done: isCoOwner ? 'Co-owner added and notified.' : `${isGroup ? 'Group' : 'Person'} invited.`,
    whyNot: ({ user_id }) =>
      why(endpoint) ??
      (user_id.trim() === '' ? `Enter ${isGroup ? 'a group' : 'an e-mail address'} first.` : null),
    input: ({ user_id }) => ({
      params,
      body: isGroup ? { group_id: user_id.trim() } : { user_id: user_id.trim() },
    }),
  });
  return (
    <FormElement form={form} aria-label="Add a person">
      <Stack gap="sm">
        <SubHeading>Add a person</SubHeading>
        <Group align="flex-end" gap="sm">
          <TextInput
            {...form.field('user_id')}
            label={isGroup ? 'Group' : 'E-mail address'}
            type={isGroup ? 'text' : 'email'}
            placeholder={isGroup ? 'name of a group' : 'of a member of the tenant'}
            autoComplete="off"
            w={{ base: '100%', xs: 280 }}
          />
          <Select
            label="As"
            data={[
              { value: 'member', label: 'Invited: can use the app' },
              { value: 'group', label: 'Invited group: its members can use the app' },
              { value: 'co_owner', label: 'Co-owner: can change the app' },
            ]}
            value={role}
            onChange={(value) => value && setRole(value as typeof role)}
            allowDeselect={false}
            w={{ base: '100%', xs: 240 }}
          />
          <SubmitButton form={form}>Add</SubmitButton>
        </Group>
        <ProblemAlert error={form.problem} />
      </Stack>
    </FormElement>
  );
}
