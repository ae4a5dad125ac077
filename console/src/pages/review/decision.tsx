import { SimpleGrid } from '@mantine/core';
import {
  approveReview,
  publicationTextCharsMax,
  rejectReview,
  withdrawReview,
} from '@svc/contract/review.ts';
import { type Caller, useMe, useTenant, whyNot } from '../../api/me.ts';
import { usePreviewError } from '../../api/use-endpoint.ts';
import { useChange } from '../../change/use-change.ts';
import { ChangeButton } from '../../components/buttons.tsx';
import { DecisionForm } from '../../components/form-card.tsx';
import { visibleTo } from '../../components/format.ts';
import { Section } from '../../components/page-layout.tsx';
import { ProblemAlerts } from '../../components/problem-alert.tsx';
import { Hint } from '../../components/text.tsx';
import { useForm } from '../../components/use-form.ts';
import { type Review, whyNotApprove, whyNotReject, whyNotWithdraw } from './rules.ts';

export function Decision({
  request,
  relation,
}: {
  request: Review;
  relation: NonNullable<Caller['relation']>;
}) {
  const tenant = useTenant();
  const person = { id: useMe().id, role: tenant.role, relation };
  const params = { tenantID: tenant.id, request: request.id };
  const isOpen = request.status === 'pending';
  const isPublication = request.kind === 'publication';
  const afterApproval = isPublication
    ? `After approval the app is at once visible to ${visibleTo[request.visibility]}.`
    : `After approval the ${request.kind === 'promotion' ? 'release' : 'deployment'} goes live. The app stays visible to ${visibleTo[request.visibility]}.`;
  const refusal = usePreviewError(
    approveReview,
    { params, body: { note: '' } },
    { enabled: isOpen && whyNot(approveReview, person) === null },
  );
  const noApproval = whyNotApprove(request, person, refusal);
  const noRejection = whyNotReject(request, person);
  const approveRecord = { note: '' };
  const approve = useForm(approveReview, approveRecord, {
    title: 'Approve the request',
    done: isPublication
      ? 'Request approved. The new visibility applies now.'
      : 'Request approved. It goes live now.',
    whyNot: () => noApproval,
    input: (body) => ({ params, body }),
  });
  const rejectRecord = { reason: '' };
  const reject = useForm(rejectReview, rejectRecord, {
    title: 'Reject the request',
    done: 'Request rejected. The owners are notified of the reason.',
    whyNot: ({ reason }) => noRejection ?? (reason.trim() === '' ? 'Enter a reason first.' : null),
    input: (body) => ({ params, body }),
  });
  const withdraw = useChange(withdrawReview, {
    title: 'Withdraw the request',
    done: 'Request withdrawn.',
  });
  return (
    <Section title="Decision" lead={isOpen ? afterApproval : undefined}>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        <DecisionForm
          form={approve}
          verb="Approve"
          text={
            noApproval === null
              ? {
                  ...approve.field('note'),
                  label: 'Approval note',
                  description: 'Optional; shown to the owners.',
                  maxLength: publicationTextCharsMax,
                }
              : null
          }
          hint={<Why text={noApproval} />}
        />
        <DecisionForm
          form={reject}
          verb="Reject"
          text={
            noRejection === null
              ? {
                  ...reject.field('reason'),
                  label: 'Reason for rejection',
                  description: 'Tells the owners what to change.',
                  maxLength: publicationTextCharsMax,
                }
              : null
          }
          actions={
            <ChangeButton why={whyNotWithdraw(request, person)} change={withdraw} input={{ params }}>
              Withdraw
            </ChangeButton>
          }
          hint={noRejection !== noApproval && <Why text={noRejection} />}
        />
      </SimpleGrid>
      <ProblemAlerts changes={[approve, reject, withdraw]} />
    </Section>
  );
}

/** Visible as well, because touch and keyboard users may miss the tooltip. */
function Why({ text }: { text: string | null }) {
  return text === null ? null : <Hint aria-hidden>{text}</Hint>;
}
