import { Stack } from '@mantine/core';
import { enableStorage } from '@svc/contract/storage.ts';
import { useChange } from '../../../change/use-change.ts';
import { Empty } from '../../../parts/empty.tsx';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { useApp } from '../use-app.ts';
import { whyNotActive } from '../why-not-active.ts';

export function EnableStorage() {
  const { app, params, why } = useApp();
  const change = useChange(enableStorage, {
    title: 'Enable storage',
    verb: 'Enable',
    done: 'The app has storage now.',
  });
  const notActive = whyNotActive(app);
  return (
    <Stack>
      <Empty
        title="Storage is not enabled"
        command={`svc apps storage enable --app ${app.slug} --execute`}
        action={
          <MayButton
            why={why(enableStorage) ?? notActive}
            loading={change.isBusy}
            onClick={() => void change.propose({ params })}
          >
            Enable storage
          </MayButton>
        }
      >
        Storage keeps files under keys, such as reports/2027/january.pdf: pictures, exports, whatever is too
        large for a row. Nobody but the app and its owners reaches it.
      </Empty>
      {change.problem !== null && <ProblemAlert error={change.problem} />}
    </Stack>
  );
}
