import { Stack } from '@mantine/core';
import { listAppMembers } from '@svc/contract/owners.ts';
import { Empty } from '../../../parts/empty.tsx';
import { useApp } from '../use-app.ts';
import { ConsentCard } from './consent-card.tsx';
import { LeaveButton } from './leave-button.tsx';
import { PeopleCard } from './people-card.tsx';
import { TransferForm } from './transfer-form.tsx';

/** Who owns the app, who is invited, and what its owners have consented to. */
export default function PeopleTab() {
  const { app, why } = useApp();
  const reason = why(listAppMembers);
  if (app.record === 'deleted')
    return (
      <Empty title="The app is deleted" command={`svc apps restore ${app.slug} --execute`}>
        Restore it to see and change its people.
      </Empty>
    );
  if (reason !== null)
    return (
      <Empty
        title="You can not see the people of this app"
        action={app.relation === 'member' ? <LeaveButton /> : undefined}
      >
        Its owner, its co-owners and tenant admins see them. Turn to {app.owner_name}, who owns it.
      </Empty>
    );
  return (
    <Stack gap="md">
      <PeopleCard />
      <ConsentCard />
      <TransferForm />
    </Stack>
  );
}
