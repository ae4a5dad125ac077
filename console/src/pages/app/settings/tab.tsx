import { Alert, Group, Stack } from '@mantine/core';
import { updateApp, visibilities } from '@svc/contract/apps.ts';
import { listAppAuditEntries } from '@svc/contract/tenants.ts';
import { IconInfoCircle } from '@tabler/icons-react';
import { client } from '../../../api/client.ts';
import { useChange } from '../../../change/use-change.ts';
import { AuditEntries } from '../../../components/audit-entries.tsx';
import { ChangeButton } from '../../../components/buttons.tsx';
import { StateBadge } from '../../../components/display.tsx';
import { type Visibility, visibilityNames, visibleTo } from '../../../components/format.ts';
import { EmptyState, LinkTo, Section } from '../../../components/page-layout.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { CursorList, useCursorPages } from '../../../components/query-view.tsx';
import { BoldText, Hint, SmallButton } from '../../../components/text.tsx';
import { useUrlValue } from '../../../components/url-state.ts';
import { restrictedTab, useApp } from '../use-app.tsx';
import { AboutForm, RunningForm, useWhyNotUpdate } from './app-forms.tsx';
import { DangerZone } from './danger-zone.tsx';
import { IconCard } from './icon-card.tsx';
import { RawDbCard } from './raw-db-card.tsx';

export default restrictedTab(listAppAuditEntries, 'the settings of this app', SettingsTab);

function SettingsTab() {
  const { app } = useApp();
  const noUpdate = useWhyNotUpdate();
  return (
    <Stack gap="md" maw={960}>
      {noUpdate !== null && (
        <Alert icon={<IconInfoCircle aria-hidden />} color="blue">
          You cannot change these settings. {noUpdate}
        </Alert>
      )}
      <AboutForm key={`about ${app.id}`} />
      <IconCard />
      <RunningForm key={`running ${app.id}`} />
      <VisibilityCard />
      <RawDbCard />
      <DangerZone />
      <AppAudit />
    </Stack>
  );
}

const onlyByReview = 'Wider visibility needs a review. Request publication instead.';
const visibilityRank = (one: Visibility) => visibilities.indexOf(one);

function VisibilityCard() {
  const { app, params, tenant, paths } = useApp();
  const noUpdate = useWhyNotUpdate();
  const narrow = useChange(updateApp, { title: 'Narrow the visibility', done: 'Visibility narrowed.' });
  const noNarrowing = app.record === 'active' && tenant.role === 'tenant_admin' ? null : noUpdate;
  const publish = `${paths.app()}?publish=yes`;
  return (
    <Section
      title="Visibility"
      lead={
        <>
          Narrowing applies at once and withdraws a pending request. Widening needs a review:{' '}
          <LinkTo to={publish} size="sm" underline="always">
            request publication
          </LinkTo>
          .
        </>
      }
    >
      <Stack component="ul" gap="sm" m={0} p={0} aria-label="Visibility" style={{ listStyle: 'none' }}>
        {visibilities.map((one) => {
          const isWider = visibilityRank(one) > visibilityRank(app.visibility);
          const verb = isWider ? 'Widen' : 'Narrow';
          return (
            <Group key={one} component="li" justify="space-between" gap="sm">
              <Stack gap={0} style={{ flex: '1 1 180px' }}>
                <BoldText>{visibilityNames[one]}</BoldText>
                <Hint>Visible to {visibleTo[one]}</Hint>
              </Stack>
              {one === app.visibility ? (
                <StateBadge state="active" label="current" />
              ) : (
                <ChangeButton
                  size="compact-sm"
                  aria-label={`${verb} to ${visibilityNames[one]}`}
                  why={isWider ? onlyByReview : noNarrowing}
                  change={narrow}
                  input={{ params, body: { visibility: one } }}
                >
                  {verb}
                </ChangeButton>
              )}
            </Group>
          );
        })}
      </Stack>
      <ProblemAlert error={narrow.problem} />
    </Section>
  );
}

const perPage = 10;

function AppAudit() {
  const { app, params } = useApp();
  const [action, setAction] = useUrlValue('action');
  const [target, setTarget] = useUrlValue('target');
  const filters = { action: action || undefined, target_id: target || undefined };
  const pages = useCursorPages([listAppAuditEntries.id, params, filters], (cursor, signal) =>
    client.call(
      listAppAuditEntries,
      { params, query: { per_page: perPage, ...filters, ...cursor } },
      { signal },
    ),
  );
  return (
    <Section title="Audit" lead="All changes of the app, newest first.">
      {(action !== '' || target !== '') && (
        <Group gap="xs">
          {action !== '' && <SmallButton onClick={() => setAction('')}>Clear filter {action}</SmallButton>}
          {target !== '' && <SmallButton onClick={() => setTarget('')}>Clear target filter</SmallButton>}
        </Group>
      )}
      <CursorList
        pages={pages}
        lines={4}
        empty={
          <EmptyState title="No entries" command={`svc audit list --app ${app.slug}`}>
            No entry matches.
          </EmptyState>
        }
      >
        {(entries) => (
          <AuditEntries entries={entries} order={3} showAction={setAction} showTarget={setTarget} />
        )}
      </CursorList>
    </Section>
  );
}
