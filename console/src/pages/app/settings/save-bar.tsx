import { Group } from '@mantine/core';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { useWhyNoUpdate } from './use-why-no-update.ts';

/** Below a form of settings. */
export function SaveBar({
  change,
  isChanged,
  children,
}: {
  change: { isBusy: boolean; problem: unknown };
  isChanged: boolean;
  children: string;
}) {
  const noUpdate = useWhyNoUpdate();
  return (
    <>
      {change.problem !== null && <ProblemAlert error={change.problem} />}
      <Group>
        <MayButton
          type="submit"
          why={noUpdate ?? (isChanged ? null : 'Nothing is changed yet.')}
          loading={change.isBusy}
          onClick={() => {}}
        >
          {children}
        </MayButton>
      </Group>
    </>
  );
}
