import { Group, Stack, TextInput } from '@mantine/core';
import { listAppRoles, removeAppRole, setAppRole } from '@svc/contract/app-roles.ts';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { useChange } from '../../../change/use-change.ts';
import { ChangeButton } from '../../../components/buttons.tsx';
import { DataTable } from '../../../components/data-table.tsx';
import { TimeText } from '../../../components/display.tsx';
import { FormElement, SubmitButton } from '../../../components/form-card.tsx';
import { Section } from '../../../components/page-layout.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { QueryView } from '../../../components/query-view.tsx';
import { BoldText, Hint, SubHeading } from '../../../components/text.tsx';
import { useForm } from '../../../components/use-form.ts';
import { useApp } from '../use-app.tsx';

/** Roles that the rules of the tables name. */
export function RolesCard() {
  const { params, why } = useApp();
  const answer = useEndpoint(listAppRoles, { params, query: { per_page: 200 } });
  const remove = useChange(removeAppRole, {
    title: 'Take the role away',
    verb: 'Remove',
    done: 'Role removed.',
  });
  return (
    <Section
      title="Roles"
      lead="The rules of a table can give rights to a role, such as role:manager. A role takes effect at once, inside the app."
    >
      <QueryView answer={answer} lines={2}>
        {({ items }) =>
          items.length === 0 ? (
            <Hint>Nobody has a role yet.</Hint>
          ) : (
            <DataTable
              label="Roles"
              minWidth={520}
              highlightOnHover={false}
              rows={items}
              keyOf={({ role, user_id }) => `${role} ${user_id}`}
              columns={[
                { head: 'Role', cell: ({ role }) => role },
                {
                  head: 'Person',
                  cell: ({ name, email }) => (
                    <Stack gap={0}>
                      <BoldText>{name || email}</BoldText>
                      <Hint>{email}</Hint>
                    </Stack>
                  ),
                },
                { head: 'Since', cell: ({ created_at }) => <TimeText value={created_at} /> },
                {
                  head: 'Actions',
                  cell: ({ role, user_id, name, email }) => (
                    <ChangeButton
                      size="compact-sm"
                      why={why(removeAppRole)}
                      change={remove}
                      input={{ params: { ...params, role, userID: user_id } }}
                      aria-label={`Take the role ${role} from ${name || email}`}
                    >
                      Remove
                    </ChangeButton>
                  ),
                },
              ]}
            />
          )
        }
      </QueryView>
      <ProblemAlert error={remove.problem} />
      <GiveRole />
    </Section>
  );
}

function GiveRole() {
  const { params, why } = useApp();
  const form = useForm(
    setAppRole,
    { role: '', user: '' },
    {
      title: 'Give a role',
      verb: 'Give role',
      done: 'Role assigned.',
      whyNot: ({ role, user }) =>
        why(setAppRole) ??
        (role.trim() === '' || user.trim() === '' ? 'Enter a role and an e-mail address first.' : null),
      input: ({ role, user }) => ({ params, body: { role: role.trim(), user: user.trim() } }),
    },
  );
  return (
    <FormElement form={form} aria-label="Give a role">
      <Stack gap="sm">
        <SubHeading>Give a role</SubHeading>
        <Group align="flex-end" gap="sm">
          <TextInput
            {...form.field('role')}
            placeholder="manager"
            autoComplete="off"
            w={{ base: '100%', xs: 200 }}
          />
          <TextInput
            {...form.field('user')}
            label="E-mail address of the person"
            type="email"
            placeholder="of a member of the tenant"
            autoComplete="off"
            w={{ base: '100%', xs: 280 }}
          />
          <SubmitButton form={form}>Preview role</SubmitButton>
        </Group>
        <ProblemAlert error={form.problem} />
      </Stack>
    </FormElement>
  );
}
