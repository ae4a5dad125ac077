import { Stack, Text, Title } from '@mantine/core';
import { deletePolicy, getPolicy, updatePolicy } from '@svc/contract/access-policies.ts';
import { listGrants } from '@svc/contract/grants.ts';
import { useTenant } from '../../../api/me.ts';
import { isCode } from '../../../api/query-client.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { adminPath } from '../admin-path.ts';
import { GrantTable } from '../grants/grant-table.tsx';
import { NoSuchThing } from '../no-such-thing.tsx';
import { useFormChange } from '../use-form-change.ts';
import { draftOf } from './policy-draft.ts';
import { PolicyForm } from './policy-form.tsx';

/** A policy to change, with the grants that it limits. */
export function OnePolicy({ id }: { id: string }) {
  const tenant = useTenant();
  const params = { tenantID: tenant.id, policyID: id };
  const answer = useAnswer(getPolicy, { params });
  const uses = useAnswer(listGrants, {
    params: { tenantID: tenant.id },
    query: { policy_id: id, status: 'active' },
  });
  const update = useFormChange(updatePolicy, 'policies', {
    title: 'Change an access policy',
    verb: 'Save',
    done: 'The policy is changed.',
  });
  const remove = useFormChange(deletePolicy, 'policies', {
    title: 'Delete an access policy',
    verb: 'Delete',
    done: 'The policy is deleted.',
  });
  if (isCode(answer.error, 'not_found') || isCode(answer.error, 'validation_failed')) {
    const back = { to: adminPath(tenant.slug, 'policies'), label: 'All policies' };
    return <NoSuchThing error={answer.error} what="policy" back={back} />;
  }
  const count = uses.data?.total ?? 0;
  const inUse = count === 0 ? null : `${counted(count)} it. Revoke ${count === 1 ? 'it' : 'them'} first.`;
  return (
    <AnswerView answer={answer} lines={10}>
      {(policy) => (
        <Stack>
          <PolicyForm
            key={policy.id}
            title={policy.name}
            initial={draftOf(policy)}
            change={update}
            onSubmit={(body) => void update.propose({ params, body })}
            actions={
              <MayButton
                why={inUse}
                variant="outline"
                color="red"
                loading={remove.isBusy}
                onClick={() => void remove.propose({ params })}
              >
                Delete policy
              </MayButton>
            }
          />
          {remove.problem !== null && <ProblemAlert error={remove.problem} />}
          <Title order={2} size="h4">
            Who is affected
          </Title>
          <AnswerView answer={uses} lines={2}>
            {({ items, total }) =>
              total === 0 ? (
                <Text c="dimmed">No active grant names it: it limits nobody yet.</Text>
              ) : (
                <>
                  <Text>
                    {counted(total)} it{policy.enabled ? '.' : ', and are not limited by it while it is off.'}
                  </Text>
                  <GrantTable label="Grants that name the policy" grants={items} />
                </>
              )
            }
          </AnswerView>
        </Stack>
      )}
    </AnswerView>
  );
}

const counted = (count: number) => (count === 1 ? 'One active grant names' : `${count} active grants name`);
