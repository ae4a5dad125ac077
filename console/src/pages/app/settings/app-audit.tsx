import { Accordion, Button, Group } from '@mantine/core';
import { listAppAuditEntries } from '@svc/contract/tenants.ts';
import { client } from '../../../api/client.ts';
import { Placeholder } from '../../../parts/answer-view.tsx';
import { Empty } from '../../../parts/empty.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { Section } from '../../../parts/section.tsx';
import { ShowMore } from '../../../parts/show-more.tsx';
import { useCursorPages } from '../../../parts/use-cursor-pages.ts';
import { useSearchValue } from '../../../parts/use-search-value.ts';
import { AuditItem } from '../../admin/audit/audit-item.tsx';
import { useApp } from '../use-app.ts';

const perPage = 10;

/** What was changed of the app, by whom; the filters stand in the address. */
export function AppAudit() {
  const { app, params } = useApp();
  const [action, setAction] = useSearchValue('action');
  const [target, setTarget] = useSearchValue('target');
  const [open, setOpen] = useSearchValue('entry');
  const filters = {
    ...(action === '' ? {} : { action }),
    ...(target === '' ? {} : { target_id: target }),
  };
  const pages = useCursorPages([listAppAuditEntries.id, params, filters], (cursor, signal) =>
    client.call(
      listAppAuditEntries,
      { params, query: { per_page: perPage, ...filters, ...cursor } },
      { signal },
    ),
  );
  return (
    <Section title="Audit" lead="Each change of the app, the newest first.">
      {(action !== '' || target !== '') && (
        <Group gap="xs">
          {action !== '' && (
            <Button size="compact-sm" variant="default" onClick={() => setAction('')}>
              Not only {action}
            </Button>
          )}
          {target !== '' && (
            <Button size="compact-sm" variant="default" onClick={() => setTarget('')}>
              Not only this one
            </Button>
          )}
        </Group>
      )}
      {pages.error && <ProblemAlert error={pages.error} retry={pages.retry} />}
      {pages.items === undefined && !pages.error && <Placeholder lines={4} />}
      {pages.items?.length === 0 && (
        <Empty title="No entry" command={`svc audit list --app ${app.slug}`}>
          Nothing like that was changed.
        </Empty>
      )}
      {pages.items !== undefined && pages.items.length > 0 && (
        <Accordion
          variant="contained"
          order={3}
          value={open === '' ? null : open}
          onChange={(next) => setOpen(next ?? '')}
          keepMounted={false}
        >
          {pages.items.map((entry) => (
            <AuditItem
              key={entry.seq}
              entry={entry}
              showAction={() => setAction(entry.action)}
              showTarget={() => setTarget(entry.target.id)}
            />
          ))}
        </Accordion>
      )}
      <ShowMore pages={pages} />
    </Section>
  );
}
