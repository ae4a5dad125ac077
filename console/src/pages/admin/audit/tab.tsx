import { Accordion, Group, Stack, TextInput } from '@mantine/core';
import { listAuditEntries } from '@svc/contract/tenants.ts';
import { client } from '../../../api/client.ts';
import { useTenant } from '../../../api/me.ts';
import { Placeholder } from '../../../parts/answer-view.tsx';
import { BusyButton } from '../../../parts/busy-button.tsx';
import { Empty } from '../../../parts/empty.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { useCursorPages } from '../../../parts/use-cursor-pages.ts';
import { useSearchText } from '../../../parts/use-search-text.ts';
import { useSearchValue } from '../../../parts/use-search-value.ts';
import { AuditItem } from './audit-item.tsx';

/** The list grows at its head only: what was loaded stays, and older entries are asked for below it. */
export default function AuditTab() {
  const tenant = useTenant();
  const [actionTyped, typeAction, action] = useSearchText('action');
  const [targetTyped, typeTarget, target] = useSearchText('target');
  const [open, setOpen] = useSearchValue('entry');
  const filters = {
    ...(action === '' ? {} : { action }),
    ...(target === '' ? {} : { target_id: target }),
  };
  const params = { tenantID: tenant.id };
  const pages = useCursorPages([listAuditEntries.id, params, filters], (cursor, signal) =>
    client.call(listAuditEntries, { params, query: { ...filters, ...cursor } }, { signal }),
  );
  const entries = pages.items ?? [];
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
          placeholder="of an app, a grant, a user …"
          value={targetTyped}
          onChange={(event) => typeTarget(event.currentTarget.value.trim())}
          maxLength={200}
          classNames={{ input: 'mono' }}
          w={{ base: '100%', sm: 340 }}
        />
      </Group>
      {pages.error && <ProblemAlert error={pages.error} retry={pages.retry} />}
      {pages.items === undefined && !pages.error && <Placeholder lines={8} />}
      {pages.items?.length === 0 && (
        <Empty title="No entry" command="svc audit list --json">
          {action === '' && target === ''
            ? 'Each change of the tenant is written here, in a chain that shows when somebody tampers with it.'
            : 'Nothing was done like that. An action is written whole, such as grants.create.'}
        </Empty>
      )}
      {entries.length > 0 && (
        <Accordion
          variant="contained"
          value={open === '' ? null : open}
          onChange={(next) => setOpen(next ?? '')}
          keepMounted={false}
          aria-label="Audit entries"
        >
          {entries.map((entry) => (
            <AuditItem
              key={entry.seq}
              entry={entry}
              showAction={() => typeAction(entry.action)}
              showTarget={() => typeTarget(entry.target.id)}
            />
          ))}
        </Accordion>
      )}
      {pages.more && (
        <Group justify="center">
          <BusyButton variant="default" loading={pages.isMoreBusy} onClick={pages.more}>
            Load older entries
          </BusyButton>
        </Group>
      )}
    </Stack>
  );
}
