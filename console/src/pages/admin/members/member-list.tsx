import { Select, Stack, Text, TextInput } from '@mantine/core';
import { listMembers, removeMember, setMember } from '@svc/contract/tenants.ts';
import { IconSearch } from '@tabler/icons-react';
import { useMe, useTenant } from '../../../api/me.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { useChange } from '../../../change/use-change.ts';
import { CopyText } from '../../../parts/copy-text.tsx';
import { DataTable } from '../../../parts/data-table.tsx';
import { Empty } from '../../../parts/empty.tsx';
import { PagedList } from '../../../parts/paged-list.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { StateBadge } from '../../../parts/state-badge.tsx';
import { TimeText } from '../../../parts/time-text.tsx';
import { useSearchText } from '../../../parts/use-search-text.ts';
import { usePage } from '../../../parts/use-search-value.ts';
import { adminPath } from '../admin-path.ts';
import { ListHead } from '../list-head.tsx';
import { RowButton } from '../row-button.tsx';
import { type Role, roleData } from './roles.ts';

export function MemberList() {
  const tenant = useTenant();
  const me = useMe();
  const [typed, type, q] = useSearchText('q');
  const page = usePage();
  const answer = useAnswer(listMembers, {
    params: { tenantID: tenant.id },
    query: q === '' ? { page } : { q, page },
  });
  const setRole = useChange(setMember, {
    title: 'Change a role',
    verb: 'Change role',
    done: 'The role is changed.',
  });
  const remove = useChange(removeMember, {
    title: 'Remove a member',
    verb: 'Remove',
    done: 'The member is removed.',
  });
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
      {[setRole, remove].map(
        // biome-ignore lint/suspicious/noArrayIndexKey: two that never change places.
        ({ problem }, at) => problem !== null && <ProblemAlert key={at} error={problem} />,
      )}
      <PagedList
        answer={answer}
        empty={
          <Empty title="Nobody is named so" command="svc members list --q anna">
            The search looks for a part of a name or of an e-mail address.
          </Empty>
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
                  <Stack gap={0}>
                    <Text fw={600}>
                      {member.name}
                      {member.user_id === me.id && ' (you)'}
                    </Text>
                    <Text size="sm" c="dimmed">
                      {member.email}
                    </Text>
                  </Stack>
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
