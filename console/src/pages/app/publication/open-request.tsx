import { Alert, Group, Stack, Text } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { withdrawPublication } from '@svc/contract/review.ts';
import { IconClock } from '@tabler/icons-react';
import { useMe } from '../../../api/me.ts';
import { useChange } from '../../../change/use-change.ts';
import { LinkTo } from '../../../parts/link-to.tsx';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { TimeText } from '../../../parts/time-text.tsx';
import { visibilityNames } from '../../../parts/visibility-texts.ts';
import { useApp } from '../use-app.ts';
import type { RequestView } from './request-view.ts';

/** The request that waits for somebody to decide. */
export function OpenRequest({ request }: { request: RequestView }) {
  const { tenant, why } = useApp();
  const me = useMe();
  const withdraw = useChange(withdrawPublication, {
    title: 'Withdraw the request',
    verb: 'Withdraw',
    done: 'The request is withdrawn.',
  });
  return (
    <Alert color="yellow" icon={<IconClock aria-hidden />} title="Waits for a review">
      <Stack gap="xs">
        <Text size="sm" component="div">
          {request.requested_by_email} asked <TimeText value={request.requested_at} /> to make it{' '}
          <strong>{visibilityNames[request.visibility]}</strong>. A tenant admin who did not ask decides.
        </Text>
        {withdraw.problem !== null && <ProblemAlert error={withdraw.problem} />}
        <Group gap="md">
          <LinkTo to={consolePaths.review(tenant.slug, request.id)} size="sm" c="inherit" td="underline">
            Look at the request
          </LinkTo>
          <MayButton
            size="compact-sm"
            variant="default"
            why={request.requested_by === me.id ? null : why(withdrawPublication)}
            loading={withdraw.isBusy}
            onClick={() => void withdraw.propose({ params: { tenantID: tenant.id, request: request.id } })}
          >
            Withdraw the request
          </MayButton>
        </Group>
      </Stack>
    </Alert>
  );
}
