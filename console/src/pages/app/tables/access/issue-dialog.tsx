import { Checkbox, Group, NativeSelect, SegmentedControl, Stack, Text, TextInput } from '@mantine/core';
import { issueTableGrant, principalTypes, tableActions } from '@svc/contract/tables.ts';
import { useState } from 'react';
import { useChange } from '../../../../change/use-change.ts';
import { PreviewBar } from '../../../../parts/preview-bar.tsx';
import { Dialog } from '../dialog.tsx';
import { useTable } from '../use-table.ts';
import { type PrincipalType, principalLabels, roleLabels } from './principals.ts';

const hints: Record<Exclude<PrincipalType, 'role'>, { label: string; description: string }> = {
  user: { label: 'Person', description: 'E-mail address or user id of a member of the tenant' },
  app: { label: 'App', description: 'Slug or id of an app that you can see' },
};

export function IssueDialog({ onClose }: { onClose: () => void }) {
  const { table, params } = useTable();
  const [type, setType] = useState<PrincipalType>('user');
  const [name, setName] = useState('');
  const [role, setRole] = useState('tenant_member');
  const [actions, setActions] = useState<string[]>(['read']);
  const change = useChange(issueTableGrant, {
    title: 'Let somebody in',
    verb: 'Issue grant',
    done: 'The grant is issued.',
    onDone: onClose,
  });
  const principal = type === 'role' ? role : name.trim();
  const chosen = tableActions.filter((action) => actions.includes(action));
  const notReady =
    principal === '' ? 'Say who first.' : chosen.length === 0 ? 'Choose what they may do first.' : null;
  return (
    <Dialog onClose={onClose} title={`Let somebody reach ${table.name}`}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (notReady !== null) return;
          void change.propose({
            params,
            body: { principal_type: type, principal_id: principal, actions: chosen },
          });
        }}
      >
        <Stack>
          <SegmentedControl
            aria-label="What is let in"
            value={type}
            onChange={(next) => setType(principalTypes.find((each) => each === next) ?? 'user')}
            data={principalTypes.map((value) => ({ value, label: principalLabels[value] }))}
          />
          {type === 'role' ? (
            <NativeSelect
              label="Role"
              data={Object.entries(roleLabels).map(([value, label]) => ({ value, label }))}
              value={role}
              onChange={(event) => setRole(event.currentTarget.value)}
            />
          ) : (
            <TextInput
              {...hints[type]}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
              error={change.errorOf('principal_id')}
              autoComplete="off"
            />
          )}
          <Checkbox.Group
            label="They may"
            value={actions}
            onChange={setActions}
            error={change.errorOf('actions')}
          >
            <Group mt="xs">
              <Checkbox value="read" label="read rows" />
              <Checkbox value="write" label="write rows" />
            </Group>
          </Checkbox.Group>
          <Text size="sm" c="dimmed">
            {table.owner_column === null ? 'They reach all rows.' : 'They reach rows of their own only.'}
          </Text>
          <PreviewBar change={change} why={notReady} onCancel={onClose} />
        </Stack>
      </form>
    </Dialog>
  );
}
