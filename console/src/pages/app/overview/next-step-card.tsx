import { Alert, Stack, Text } from '@mantine/core';
import { IconInfoCircle } from '@tabler/icons-react';
import { TimeText } from '../../../parts/time-text.tsx';
import { useApp } from '../use-app.ts';
import { DeployWays } from './deploy-ways.tsx';
import { MoveButton } from './move-button.tsx';
import type { NextStep } from './next-step.ts';

const titles: Record<Exclude<NextStep, 'deploy'>, string> = {
  resume: 'The app is suspended',
  reactivate: 'The app is archived',
  restore: 'The app is deleted',
};

/** What has to be done before the app is of use again. */
export function NextStepCard({ step }: { step: NextStep }) {
  const { app } = useApp();
  if (step === 'deploy') return <DeployWays />;
  return (
    <Alert color="yellow" icon={<IconInfoCircle aria-hidden />} title={titles[step]}>
      <Stack gap="sm" align="flex-start">
        <Text size="sm" component="div">
          {step === 'resume' &&
            'Nobody is answered while it is suspended. Resuming deploys once more what ran last.'}
          {step === 'reactivate' &&
            'Its rows can be read, and nothing of it changes. Reactivated, it can be resumed and deployed again.'}
          {step === 'restore' && (
            <>
              It comes back as it was, stopped. It is purged <TimeText value={app.purge_after} />, and then it
              is gone for good.
            </>
          )}
        </Text>
        <MoveButton move={step} />
      </Stack>
    </Alert>
  );
}
