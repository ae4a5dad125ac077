import { Alert, Stack } from '@mantine/core';
import { listAppAuditEntries } from '@svc/contract/tenants.ts';
import { IconInfoCircle } from '@tabler/icons-react';
import { OnlyFor } from '../../../parts/only-for.tsx';
import { useApp } from '../use-app.ts';
import { AboutForm } from './about-form.tsx';
import { AppAudit } from './app-audit.tsx';
import { DangerZone } from './danger-zone.tsx';
import { IconCard } from './icon-card.tsx';
import { RawDbCard } from './raw-db-card.tsx';
import { RunningForm } from './running-form.tsx';
import { useWhyNoUpdate } from './use-why-no-update.ts';
import { VisibilityCard } from './visibility-card.tsx';

/** What is said of the app, how it runs, who sees it, and what takes it away. */
export default function SettingsTab() {
  const { app, why } = useApp();
  const noUpdate = useWhyNoUpdate();
  return (
    <OnlyFor why={why(listAppAuditEntries)} what="the settings of this app">
      <Stack gap="md" maw={960}>
        {noUpdate !== null && (
          <Alert icon={<IconInfoCircle aria-hidden />} color="blue">
            You can not change these settings. {noUpdate}
          </Alert>
        )}
        <AboutForm key={`about ${app.id}`} />
        <IconCard />
        <RunningForm key={`running ${app.id}`} />
        <VisibilityCard />
        <RawDbCard />
        <DangerZone />
        <AppAudit />
      </Stack>
    </OnlyFor>
  );
}
