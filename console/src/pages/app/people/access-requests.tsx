import { Group, Stack } from '@mantine/core';
import {
  acceptAccessRequest,
  listAccessRequests,
  refuseAccessRequest,
} from '@svc/contract/access-requests.ts';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { useChange } from '../../../change/use-change.ts';
import { ChangeButton } from '../../../components/buttons.tsx';
import { DataTable } from '../../../components/data-table.tsx';
import { TimeText } from '../../../components/display.tsx';
import { Section } from '../../../components/page-layout.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { BoldText, Hint } from '../../../components/text.tsx';
import { useApp } from '../use-app.tsx';

/** Nothing while nobody asks. */
export function AccessRequestsCard() {
  const { params, why } = useApp();
  const { data } = useEndpoint(
    listAccessRequests,
    { params, query: { per_page: 200 } },
    { enabled: why(listAccessRequests) === null, refetchMs: 30_000 },
  );
  const accept = useChange(acceptAccessRequest, {
    title: 'Accept the request',
    verb: 'Accept',
    done: 'The person is invited and notified.',
  });
  const refuse = useChange(refuseAccessRequest, {
    title: 'Refuse the request',
    verb: 'Refuse',
    done: 'Request refused.',
  });
  if (!data || data.items.length === 0) return null;
  return (
    <Section title="Requests for access" lead="Accepted people become invited members of the app.">
      <Stack gap="sm">
        <DataTable
          label="Requests for access"
          minWidth={520}
          highlightOnHover={false}
          rows={data.items}
          columns={[
            {
              head: 'Person',
              cell: ({ name, email }) => (
                <Stack gap={0}>
                  <BoldText>{name || email}</BoldText>
                  <Hint>{email}</Hint>
                </Stack>
              ),
            },
            { head: 'Message', cell: ({ note }) => note || '–' },
            { head: 'Since', cell: ({ requested_at }) => <TimeText value={requested_at} /> },
            {
              head: 'Actions',
              cell: ({ id, name, email }) => (
                <Group gap="xs" wrap="nowrap">
                  <ChangeButton
                    size="compact-sm"
                    change={accept}
                    input={{ params: { ...params, request: id } }}
                    aria-label={`Accept ${name || email}`}
                  >
                    Accept
                  </ChangeButton>
                  <ChangeButton
                    size="compact-sm"
                    change={refuse}
                    input={{ params: { ...params, request: id } }}
                    aria-label={`Refuse ${name || email}`}
                  >
                    Refuse
                  </ChangeButton>
                </Group>
              ),
            },
          ]}
        />
        <ProblemAlert error={accept.problem} />
        <ProblemAlert error={refuse.problem} />
      </Stack>
    </Section>
  );
}
