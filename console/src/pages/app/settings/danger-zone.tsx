import { Stack } from '@mantine/core';
import { Section } from '../../../parts/section.tsx';
import { useApp } from '../use-app.ts';
import { MoveRow } from './move-row.tsx';
import { oneOf } from './why-not-move.ts';

/** What stops the app, puts it away, and takes it away; each with its way back. */
export function DangerZone() {
  const { app } = useApp();
  return (
    <Section tone="danger" title="Danger zone">
      <Stack gap="md">
        <MoveRow key="running" move={oneOf(['suspend', 'resume'], app)} />
        <MoveRow key="putting away" move={oneOf(['archive', 'reactivate'], app)} />
        <MoveRow key="taking away" move={oneOf(['delete', 'restore'], app)} />
        <MoveRow key="for good" move="purge" />
      </Stack>
    </Section>
  );
}
