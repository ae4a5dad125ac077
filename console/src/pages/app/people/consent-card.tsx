import { Code, Group, Text } from '@mantine/core';
import { getInspectionConsent, listInspections, setInspectionConsent } from '@svc/contract/inspection.ts';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { useChange } from '../../../change/use-change.ts';
import { ChangeButton } from '../../../components/buttons.tsx';
import { DataTable } from '../../../components/data-table.tsx';
import { StateBadge, TimeText } from '../../../components/display.tsx';
import { Section } from '../../../components/page-layout.tsx';
import { ProblemAlerts } from '../../../components/problem-alert.tsx';
import { QueryView } from '../../../components/query-view.tsx';
import { Hint, SubHeading } from '../../../components/text.tsx';
import { useApp } from '../use-app.tsx';

export function ConsentCard() {
  const { app, params, why } = useApp();
  const answer = useEndpoint(getInspectionConsent, { params });
  const grant = useChange(setInspectionConsent, {
    title: 'Grant consent',
    done: 'Consent granted. Tenant admins may inspect the app.',
  });
  const revoke = useChange(setInspectionConsent, { title: 'Revoke consent', done: 'Consent revoked.' });
  const whyNoGrant =
    app.relation === 'owner'
      ? null
      : 'Only the owner can grant consent, because an inspection cannot be undone.';
  return (
    <Section
      title="Admin inspection"
      lead="With the owner’s consent, tenant admins can inspect how the app is built, but never its rows. Every inspection is recorded."
    >
      <QueryView answer={answer} lines={2}>
        {({ status, granted_at, revoked_at, reads }) => (
          <>
            <Group gap="sm">
              <StateBadge
                state={status === 'granted' ? 'pending' : 'none'}
                label={status === 'never' ? 'no consent' : status}
              />
              <Text size="sm" component="div">
                {status === 'granted' && (
                  <>
                    Granted <TimeText value={granted_at} />.
                  </>
                )}
                {status === 'revoked' && (
                  <>
                    Revoked <TimeText value={revoked_at} />. Earlier inspections stay recorded.
                  </>
                )}
                {status === 'never' && 'Consent was never granted.'}
              </Text>
              {status === 'granted' ? (
                <ChangeButton
                  size="compact-sm"
                  why={why(setInspectionConsent)}
                  change={revoke}
                  input={{ params, body: { granted: false } }}
                >
                  Revoke consent
                </ChangeButton>
              ) : (
                <ChangeButton
                  size="compact-sm"
                  why={whyNoGrant}
                  change={grant}
                  input={{ params, body: { granted: true } }}
                >
                  Grant consent
                </ChangeButton>
              )}
            </Group>
            <ProblemAlerts changes={[grant, revoke]} />
            {reads > 0 && <InspectionList />}
          </>
        )}
      </QueryView>
    </Section>
  );
}

const shownMax = 10;

function InspectionList() {
  const { app, params } = useApp();
  const answer = useEndpoint(listInspections, { params, query: { per_page: shownMax } });
  return (
    <QueryView answer={answer} lines={2}>
      {({ items, total }) => (
        <div>
          <SubHeading mb="xs">Inspections</SubHeading>
          <DataTable
            label="Inspections"
            minWidth={420}
            verticalSpacing={7}
            rows={items}
            columns={[
              { head: 'Reader', cell: (entry) => entry.reader_email },
              { head: 'Subject', cell: ({ what }) => what },
              { head: 'Reason', cell: ({ reason }) => reason },
              { head: 'Time', cell: ({ at }) => <TimeText value={at} /> },
            ]}
          />
          {total > shownMax && (
            <Hint mt="xs">
              The latest {shownMax} of {total}. All of them:{' '}
              <Code>{`svc apps inspection-consent ledger --app ${app.slug}`}</Code>
            </Hint>
          )}
        </div>
      )}
    </QueryView>
  );
}
