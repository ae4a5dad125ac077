import { Group, Stack, Text } from '@mantine/core';
import { removeCoOwner } from '@svc/contract/apps.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { type listAppMembers, removeAppMember } from '@svc/contract/owners.ts';
import { useMe } from '../../../api/me.ts';
import { useChange } from '../../../change/use-change.ts';
import { DataTable } from '../../../parts/data-table.tsx';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { TimeText } from '../../../parts/time-text.tsx';
import { useApp } from '../use-app.ts';
import { whyNotRemove } from './why-not-remove.ts';

export type Person = Answer<NonNullable<typeof listAppMembers.shape>>['items'][number];

const roles: Record<Person['role'], string> = {
  owner: 'Owner',
  co_owner: 'Co-owner',
  member: 'Invited',
};

export function PersonTable({ people }: { people: readonly Person[] }) {
  const { app, tenant, params } = useApp();
  const me = useMe();
  const endCoOwner = useChange(removeCoOwner, {
    title: 'End a co-ownership',
    verb: 'End it',
    done: 'The co-ownership has ended.',
  });
  const endMember = useChange(removeAppMember, {
    title: 'Take an invitation back',
    verb: 'Take it back',
    done: 'The invitation is taken back.',
  });
  const remove = ({ role, user_id: userID }: Person) =>
    void (role === 'co_owner' ? endCoOwner : endMember).propose({ params: { ...params, userID } });
  return (
    <Stack gap="sm">
      <DataTable
        label="People"
        minWidth={520}
        highlightOnHover={false}
        rows={people}
        keyOf={(person) => person.user_id}
        columns={[
          {
            head: 'Name',
            cell: (person) => (
              <Stack gap={0}>
                <Text fw={600} size="sm">
                  {person.name || person.email}
                  {person.user_id === me.id && ' (you)'}
                </Text>
                <Text size="sm" c="dimmed">
                  {person.email}
                </Text>
              </Stack>
            ),
          },
          { head: 'Is', cell: ({ role }) => roles[role] },
          { head: 'Since', cell: ({ since }) => <TimeText value={since} /> },
          {
            head: 'Actions',
            cell: (person) => (
              <Group>
                <MayButton
                  size="compact-sm"
                  variant="default"
                  why={whyNotRemove(person, { id: me.id, role: tenant.role, relation: app.relation })}
                  onClick={() => remove(person)}
                  aria-label={`Remove ${person.name || person.email}`}
                >
                  Remove
                </MayButton>
              </Group>
            ),
          },
        ]}
      />
      {endCoOwner.problem !== null && <ProblemAlert error={endCoOwner.problem} />}
      {endMember.problem !== null && <ProblemAlert error={endMember.problem} />}
    </Stack>
  );
}
