import { Group, Stack, TextInput, Title } from '@mantine/core';
import { addDomain } from '@svc/contract/domains.ts';
import { useState } from 'react';
import { useChange } from '../../../change/use-change.ts';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { useApp } from '../use-app.ts';
import { whyNotActive } from '../why-not-active.ts';

export function AddDomain() {
  const { app, params, why } = useApp();
  const [host, setHost] = useState('');
  const change = useChange(addDomain, {
    title: 'Add a domain',
    verb: 'Add',
    done: 'Added. Publish its records now.',
    onDone: () => setHost(''),
  });
  const reason =
    why(addDomain) ?? whyNotActive(app) ?? (host.trim() === '' ? 'Write a host name first.' : null);
  return (
    <Stack
      gap="sm"
      component="form"
      onSubmit={(event: React.FormEvent) => {
        event.preventDefault();
        if (reason === null) void change.propose({ params, body: { host: host.trim() } });
      }}
    >
      <Title order={2} size="h4">
        Add a domain
      </Title>
      <Group align="flex-end">
        <TextInput
          label="Host name"
          placeholder="www.example.com"
          value={host}
          onChange={(event) => setHost(event.currentTarget.value)}
          error={change.errorOf('host')}
          autoCapitalize="none"
          spellCheck={false}
          flex={1}
          miw={200}
          maw={480}
        />
        <MayButton type="submit" why={reason} loading={change.isBusy} onClick={() => {}}>
          Add
        </MayButton>
      </Group>
      {change.problem !== null && change.errorOf('host') === undefined && (
        <ProblemAlert error={change.problem} />
      )}
    </Stack>
  );
}
