import { Group, Paper, Stack, Text, TextInput, Title } from '@mantine/core';
import { grantStates, reasonCharsMax, replaceGrantScope, revokeGrant } from '@svc/contract/grants.ts';
import { useState } from 'react';
import { useTenant } from '../../../api/me.ts';
import { useChange } from '../../../change/use-change.ts';
import { ChangedBelow } from '../../../parts/changed-below.tsx';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { useDraft } from '../../../parts/use-draft.ts';
import type { GrantRecord } from './grant-table.tsx';
import { ScopeField } from './scope-field.tsx';
import { readScope } from './scope-text.ts';

/** What can still be changed of a grant: its scope, as a whole, and its end. */
export function GrantChanges({ grant }: { grant: GrantRecord }) {
  const tenant = useTenant();
  const { shown, set, drop, below } = useDraft({ scope: grant.scope_resource_paths.join('\n') });
  const [reason, setReason] = useState('');
  const params = { tenantID: tenant.id, grantID: grant.id };
  const replace = useChange(replaceGrantScope, {
    title: 'Replace the scope',
    verb: 'Replace scope',
    done: 'The scope is replaced.',
    onDone: drop,
  });
  const revoke = useChange(revokeGrant, {
    title: 'Revoke the grant',
    verb: 'Revoke',
    done: 'The grant is revoked.',
  });
  const scope = readScope(shown.scope);
  const over = (move: keyof typeof grantStates) =>
    grantStates[move].some((state) => state === grant.status)
      ? null
      : `The grant is ${grant.status}, which is for good. Make a new one.`;
  return (
    <>
      <Paper withBorder p="lg" radius="md">
        <Stack>
          <Title order={3} size="h5">
            Scope
          </Title>
          <ScopeField
            text={shown.scope}
            onChange={(scope) => set({ scope })}
            error={replace.errorOf('scope_resource_paths')}
          />
          <ChangedBelow fields={below} />
          {replace.problem !== null && <ProblemAlert error={replace.problem} />}
          <Group>
            <MayButton
              why={over('replaceScope') ?? (scope.fault && `The scope ${scope.fault}.`)}
              loading={replace.isBusy}
              onClick={() => void replace.propose({ params, body: scope.entries })}
            >
              Replace scope
            </MayButton>
          </Group>
        </Stack>
      </Paper>
      <Paper withBorder p="lg" radius="md">
        <Stack>
          <Title order={3} size="h5">
            Revoke
          </Title>
          <Text size="sm">
            What it allows ends at once. A revoked grant stays in the list and never comes back.
          </Text>
          <TextInput
            label="Why"
            description="Kept in the audit log; may be empty."
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
            maxLength={reasonCharsMax}
          />
          {revoke.problem !== null && <ProblemAlert error={revoke.problem} />}
          <Group>
            <MayButton
              why={over('revoke')}
              color="red"
              loading={revoke.isBusy}
              onClick={() => void revoke.propose({ params, body: { reason } })}
            >
              Revoke grant
            </MayButton>
          </Group>
        </Stack>
      </Paper>
    </>
  );
}
