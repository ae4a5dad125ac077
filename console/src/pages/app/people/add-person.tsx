import { Group, Select, Stack, TextInput, Title } from '@mantine/core';
import { addCoOwner } from '@svc/contract/apps.ts';
import { addAppMember } from '@svc/contract/owners.ts';
import { useState } from 'react';
import { useChange } from '../../../change/use-change.ts';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { useApp } from '../use-app.ts';

/** By e-mail address: only admins may look through the members of the tenant. */
export function AddPerson() {
  const { params, why } = useApp();
  const [email, setEmail] = useState('');
  const [as, setAs] = useState<'co_owner' | 'member'>('member');
  const onDone = () => setEmail('');
  const coOwner = useChange(addCoOwner, {
    title: 'Add a co-owner',
    verb: 'Add',
    done: 'They are a co-owner now, and are told so.',
    onDone,
  });
  const member = useChange(addAppMember, {
    title: 'Invite somebody',
    verb: 'Invite',
    done: 'They are invited.',
    onDone,
  });
  const change = as === 'co_owner' ? coOwner : member;
  const reason =
    why(as === 'co_owner' ? addCoOwner : addAppMember) ??
    (email.trim() === '' ? 'Enter an e-mail address first.' : null);
  const submit = () => {
    if (reason === null) void change.propose({ params, body: { user_id: email.trim() } });
  };
  return (
    <form
      noValidate
      aria-label="Add somebody"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <Stack gap="sm">
        <Title order={3} size="h5">
          Add somebody
        </Title>
        <Group align="flex-end" gap="sm">
          <TextInput
            label="E-mail address"
            type="email"
            placeholder="of a member of the tenant"
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
            error={change.errorOf('user_id')}
            autoComplete="off"
            w={{ base: '100%', xs: 280 }}
          />
          <Select
            label="As"
            data={[
              { value: 'member', label: 'Invited: sees the app' },
              { value: 'co_owner', label: 'Co-owner: changes the app' },
            ]}
            value={as}
            onChange={(value) => setAs(value === 'co_owner' ? 'co_owner' : 'member')}
            allowDeselect={false}
            w={{ base: '100%', xs: 240 }}
          />
          <MayButton why={reason} loading={change.isBusy} type="submit" onClick={() => {}}>
            Add
          </MayButton>
        </Group>
        {change.problem !== null && <ProblemAlert error={change.problem} />}
      </Stack>
    </form>
  );
}
