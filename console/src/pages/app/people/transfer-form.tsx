import { Group, Stack, Text, TextInput } from '@mantine/core';
import { transferOwnership } from '@svc/contract/owners.ts';
import { useState } from 'react';
import { useChange } from '../../../change/use-change.ts';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { Section } from '../../../parts/section.tsx';
import { useApp } from '../use-app.ts';
import { useWhyNoTransfer } from './use-why-no-transfer.ts';

/** Hands the app over. */
export function TransferForm() {
  const { app, params, tenant } = useApp();
  const [to, setTo] = useState('');
  const change = useChange(transferOwnership, {
    title: 'Hand the app over',
    verb: 'Hand it over',
    done: 'The app is handed over; both are told.',
    onDone: () => setTo(''),
  });
  const isInPlaceOfOwner = tenant.role === 'tenant_admin' && app.relation !== 'owner';
  const reason =
    useWhyNoTransfer() ?? (to.trim() === '' ? 'Enter the e-mail address of the new owner first.' : null);
  const submit = () => {
    if (reason === null) void change.propose({ params, body: { to: to.trim() } });
  };
  return (
    <Section
      tone="danger"
      title="Hand the app over"
      lead="The new owner becomes the one who represents it; the owner so far stays as a co-owner. Only the new owner can hand it back."
    >
      <form
        noValidate
        aria-label="Hand the app over"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <Stack gap="sm">
          <Group align="flex-end" gap="sm">
            <TextInput
              label="E-mail address of the new owner"
              type="email"
              value={to}
              onChange={(event) => setTo(event.currentTarget.value)}
              error={change.errorOf('to')}
              autoComplete="off"
              w={{ base: '100%', xs: 320 }}
            />
            <MayButton
              color="red"
              variant="outline"
              why={reason}
              loading={change.isBusy}
              type="submit"
              onClick={() => {}}
            >
              Hand it over
            </MayButton>
          </Group>
          {isInPlaceOfOwner && (
            <Text size="sm" c="dimmed">
              As an admin you can hand it over only when its owner is suspended or has left the tenant.
            </Text>
          )}
          {change.problem !== null && <ProblemAlert error={change.problem} />}
        </Stack>
      </form>
    </Section>
  );
}
