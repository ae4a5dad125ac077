import { Group, Stack, Text, Title } from '@mantine/core';
import {
  archiveApp,
  deleteApp,
  deletedAppRetentionDays,
  purgeApp,
  reactivateApp,
  restoreApp,
  resumeApp,
  suspendApp,
} from '@svc/contract/app-life.ts';
import type { AppMove } from '@svc/contract/app-states.ts';
import { consolePaths } from '@svc/contract/console-paths.ts';
import type { Endpoint } from '@svc/contract/endpoint.ts';
import { useLocation } from 'wouter';
import { useChange } from '../../../change/use-change.ts';
import { ChangeButton } from '../../../components/buttons.tsx';
import { Section } from '../../../components/page-layout.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { Hint } from '../../../components/text.tsx';
import { availableMove, whyNotMoveApp } from '../rules.ts';
import { useApp } from '../use-app.tsx';

export function DangerZone() {
  const { app } = useApp();
  return (
    <Section tone="danger" title="Danger zone">
      <Stack gap="md">
        <LifecycleAction key="running" move={availableMove(['suspend', 'resume'], app)} />
        <LifecycleAction key="archive or reactivate" move={availableMove(['archive', 'reactivate'], app)} />
        <LifecycleAction key="delete or restore" move={availableMove(['delete', 'restore'], app)} />
        <LifecycleAction key="purge" move="purge" />
      </Stack>
    </Section>
  );
}

type LifecycleShape = NonNullable<typeof archiveApp.shape> | NonNullable<typeof purgeApp.shape>;

interface MoveText {
  endpoint: Endpoint<LifecycleShape>;
  verb: string;
  text: string;
  done: string;
  color?: 'red';
}

export const moveTexts: Readonly<Record<AppMove, MoveText>> = {
  suspend: {
    endpoint: suspendApp,
    verb: 'Suspend',
    text: 'Stops the app until it is resumed. Nothing is lost.',
    done: 'App suspended.',
  },
  resume: {
    endpoint: resumeApp,
    verb: 'Resume',
    text: 'Runs the last deployment again.',
    done: 'The app is starting.',
  },
  archive: {
    endpoint: archiveApp,
    verb: 'Archive',
    text: 'Stops the app and makes it read-only.',
    done: 'App archived.',
  },
  reactivate: {
    endpoint: reactivateApp,
    verb: 'Reactivate',
    text: 'Makes the app editable again; it stays stopped until it is resumed.',
    done: 'App reactivated.',
  },
  delete: {
    endpoint: deleteApp,
    verb: 'Delete',
    text: `Removes the app for everybody. It can be restored for ${deletedAppRetentionDays} days.`,
    done: 'App deleted. It can be restored.',
    color: 'red',
  },
  restore: {
    endpoint: restoreApp,
    verb: 'Restore',
    text: 'Brings the app back, stopped.',
    done: 'App restored.',
  },
  purge: {
    endpoint: purgeApp,
    verb: 'Purge',
    text: 'Permanently removes a deleted app with its rows, files and releases.',
    done: 'App purged.',
    color: 'red',
  },
};

function LifecycleAction({ move }: { move: AppMove }) {
  const { app, params, tenant, why } = useApp();
  const [, go] = useLocation();
  const { endpoint, verb, text, done, color } = moveTexts[move];
  const change = useChange(endpoint, {
    title: `${verb} ${app.name}`,
    verb,
    done,
    onDone: () => {
      if (move === 'purge') go(consolePaths.apps(tenant.slug));
    },
  });
  const reason = whyNotMoveApp(move, app) ?? why(endpoint);
  return (
    <Stack gap="xs">
      <Group justify="space-between" gap="sm">
        <Stack gap={0} style={{ flex: '1 1 260px' }}>
          <Title order={3} size="h6">
            {verb} the app
          </Title>
          <Hint>{text}</Hint>
          {reason !== null && (
            <Text size="sm" aria-hidden>
              {reason}
            </Text>
          )}
        </Stack>
        <ChangeButton
          why={reason}
          variant={color ? 'outline' : 'default'}
          color={color}
          change={change}
          input={{ params }}
        >
          {verb}
        </ChangeButton>
      </Group>
      <ProblemAlert error={change.problem} />
    </Stack>
  );
}
