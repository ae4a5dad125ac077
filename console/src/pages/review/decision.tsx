import { Group, SimpleGrid, Stack, Text, Textarea } from '@mantine/core';
import {
  approvePublication,
  publicationTextCharsMax,
  rejectPublication,
  withdrawPublication,
} from '@svc/contract/review.ts';
import { useState } from 'react';
import { type Asker, whyNot } from '../../api/may.ts';
import { useMe, useTenant } from '../../api/me.ts';
import { useRefusal } from '../../api/use-refusal.ts';
import { useChange } from '../../change/use-change.ts';
import { MayButton } from '../../parts/may-button.tsx';
import { ProblemAlert } from '../../parts/problem-alert.tsx';
import { Section } from '../../parts/section.tsx';
import { seenBy } from '../../parts/visibility-texts.ts';
import type { RequestView } from '../app/publication/request-view.ts';
import { whyNotApprove, whyNotReject, whyNotWithdraw } from './why-not-decide.ts';

/** Approve, reject or withdraw; what one may not do says why. */
export function Decision({
  request,
  relation,
}: {
  request: RequestView;
  relation: NonNullable<Asker['relation']>;
}) {
  const tenant = useTenant();
  const person = { id: useMe().id, role: tenant.role, relation };
  const params = { tenantID: tenant.id, request: request.id };
  const [note, setNote] = useState('');
  const [reason, setReason] = useState('');
  const isOpen = request.status === 'pending';
  const refusal = useRefusal(
    approvePublication,
    { params, body: { note: '' } },
    { enabled: isOpen && whyNot(approvePublication, person) === null },
  );
  const approve = useChange(approvePublication, {
    title: 'Approve the request',
    verb: 'Approve',
    done: 'Approved: it is shown to more people from now on.',
  });
  const reject = useChange(rejectPublication, {
    title: 'Reject the request',
    verb: 'Reject',
    done: 'Rejected; its owners are told why.',
  });
  const withdraw = useChange(withdrawPublication, {
    title: 'Withdraw the request',
    verb: 'Withdraw',
    done: 'The request is withdrawn.',
  });
  const noApproval = whyNotApprove(request, person, refusal);
  const noRejection = whyNotReject(request, person);
  return (
    <Section
      title="Decision"
      lead={isOpen ? `Once approved, it is seen by ${seenBy[request.visibility]}, at once.` : undefined}
    >
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        <Stack gap="sm">
          {noApproval === null && (
            <Textarea
              label="Note with the approval"
              description="Optional; its owners read it."
              value={note}
              onChange={(event) => setNote(event.currentTarget.value)}
              maxLength={publicationTextCharsMax}
              error={approve.errorOf('note')}
              autosize
              minRows={2}
            />
          )}
          <Group>
            <MayButton
              why={noApproval}
              loading={approve.isBusy}
              onClick={() => void approve.propose({ params, body: { note } })}
            >
              Approve
            </MayButton>
          </Group>
          <Why text={noApproval} />
        </Stack>
        <Stack gap="sm">
          {noRejection === null && (
            <Textarea
              label="Reason for a rejection"
              description="Its owners read what to do about it."
              value={reason}
              onChange={(event) => setReason(event.currentTarget.value)}
              maxLength={publicationTextCharsMax}
              error={reject.errorOf('reason')}
              autosize
              minRows={2}
            />
          )}
          <Group>
            <MayButton
              color="red"
              variant="outline"
              why={noRejection ?? (reason.trim() === '' ? 'Say the reason first.' : null)}
              loading={reject.isBusy}
              onClick={() => void reject.propose({ params, body: { reason } })}
            >
              Reject
            </MayButton>
            <MayButton
              variant="default"
              why={whyNotWithdraw(request, person)}
              loading={withdraw.isBusy}
              onClick={() => void withdraw.propose({ params })}
            >
              Withdraw
            </MayButton>
          </Group>
          {noRejection !== noApproval && <Why text={noRejection} />}
        </Stack>
      </SimpleGrid>
      {[approve, reject, withdraw].map(
        ({ problem }, at) =>
          // biome-ignore lint/suspicious/noArrayIndexKey: there are always these three.
          problem !== null && <ProblemAlert key={at} error={problem} />,
      )}
    </Section>
  );
}

/** In plain sight as well: who has no mouse, or a phone, sees no tooltip. */
function Why({ text }: { text: string | null }) {
  return text === null ? null : (
    <Text size="sm" c="dimmed" aria-hidden>
      {text}
    </Text>
  );
}
