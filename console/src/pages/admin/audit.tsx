import { Group, Stack, TextInput } from '@mantine/core';
import { listAuditEntries } from '@svc/contract/tenants.ts';
import { client } from '../../api/client.ts';
import { useTenant } from '../../api/me.ts';
import { AuditEntries } from '../../components/audit-entries.tsx';
import { EmptyState } from '../../components/page-layout.tsx';
import { CursorList, useCursorPages } from '../../components/query-view.tsx';
import { useUrlText } from '../../components/url-state.ts';

/** The log only grows at its head, so loaded pages stay valid and older entries are appended. */
export default function AuditTab() {
  const tenant = useTenant();
  const [actionTyped, typeAction, action] = useUrlText('action');
  const [targetTyped, typeTarget, target] = useUrlText('target');
  const filters = { action: action || undefined, target_id: target || undefined };
  const params = { tenantID: tenant.id };
  const pages = useCursorPages([listAuditEntries.id, params, filters], (cursor, signal) =>
    client.call(listAuditEntries, { params, query: { ...filters, ...cursor } }, { signal }),
  );
  return (
    <Stack>
      <Group align="flex-end" gap="sm">
        <TextInput
          label="Action"
          placeholder="grants.create"
          value={actionTyped}
          onChange={(event) => typeAction(event.currentTarget.value.trim())}
          maxLength={100}
          classNames={{ input: 'mono' }}
        />
        <TextInput
          label="Target id"
          placeholder="id of an app, grant or user"
          value={targetTyped}
          onChange={(event) => typeTarget(event.currentTarget.value.trim())}
          maxLength={200}
          classNames={{ input: 'mono' }}
          w={{ base: '100%', sm: 340 }}
        />
      </Group>
      <CursorList
        pages={pages}
        lines={8}
        empty={
          <EmptyState title="No entries" command="svc audit list --json">
            {action === '' && target === ''
              ? 'Every change in the tenant is recorded here, in a hash chain that reveals tampering.'
              : 'No entry matches. Enter the whole name of an action, such as grants.create.'}
          </EmptyState>
        }
      >
        {(entries) => <AuditEntries entries={entries} showAction={typeAction} showTarget={typeTarget} />}
      </CursorList>
    </Stack>
  );
}
