import { consolePaths } from '@svc/contract/console-paths.ts';
import { removeAppMember } from '@svc/contract/owners.ts';
import { useLocation } from 'wouter';
import { useMe } from '../../../api/me.ts';
import { useChange } from '../../../change/use-change.ts';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { useApp } from '../use-app.ts';

/** Who was invited can go again without asking anybody. */
export function LeaveButton() {
  const { params, tenant } = useApp();
  const me = useMe();
  const [, go] = useLocation();
  const leave = useChange(removeAppMember, {
    title: 'Leave the app',
    verb: 'Leave',
    done: 'You are not invited to it any more.',
    onDone: () => go(consolePaths.apps(tenant.slug)),
  });
  return (
    <>
      <MayButton
        why={null}
        variant="default"
        loading={leave.isBusy}
        onClick={() => void leave.propose({ params: { ...params, userID: me.id } })}
      >
        Leave the app
      </MayButton>
      {leave.problem !== null && <ProblemAlert error={leave.problem} />}
    </>
  );
}
