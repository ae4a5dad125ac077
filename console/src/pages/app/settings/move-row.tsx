import { Group, Stack, Text, Title } from '@mantine/core';
import {
  archiveApp,
  deleteApp,
  deletedAppsKeptDays,
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
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { useApp } from '../use-app.ts';
import { whyNotMove } from './why-not-move.ts';

type Life = NonNullable<typeof archiveApp.shape> | NonNullable<typeof purgeApp.shape>;

interface MoveText {
  endpoint: Endpoint<Life>;
  verb: string;
  says: string;
  done: string;
  color?: 'red';
}

const texts: Readonly<Record<AppMove, MoveText>> = {
  suspend: {
    endpoint: suspendApp,
    verb: 'Suspend',
    says: 'Stops it; nobody is answered until it is resumed. Nothing is lost.',
    done: 'The app is suspended.',
  },
  resume: {
    endpoint: resumeApp,
    verb: 'Resume',
    says: 'Runs it again, with what ran last.',
    done: 'The app is being started.',
  },
  archive: {
    endpoint: archiveApp,
    verb: 'Archive',
    says: 'Stops it and puts it away: its rows can be read, and nothing of it changes.',
    done: 'The app is archived.',
  },
  reactivate: {
    endpoint: reactivateApp,
    verb: 'Reactivate',
    says: 'Takes it into use again; it does not run until it is resumed.',
    done: 'The app is active again.',
  },
  delete: {
    endpoint: deleteApp,
    verb: 'Delete',
    says: `Takes it away from everybody. For ${deletedAppsKeptDays} days it can be restored.`,
    done: 'The app is deleted; it can be restored.',
    color: 'red',
  },
  restore: {
    endpoint: restoreApp,
    verb: 'Restore',
    says: 'Brings it back as it was, stopped.',
    done: 'The app is back.',
  },
  purge: {
    endpoint: purgeApp,
    verb: 'Purge',
    says: 'Removes a deleted app with its rows, files and releases, for good.',
    done: 'Nothing is left of the app.',
    color: 'red',
  },
};

export function MoveRow({ move }: { move: AppMove }) {
  const { app, params, tenant, why } = useApp();
  const [, go] = useLocation();
  const { endpoint, verb, says, done, color } = texts[move];
  const change = useChange(endpoint, {
    title: `${verb} ${app.name}`,
    verb,
    done,
    onDone: () => {
      if (move === 'purge') go(consolePaths.apps(tenant.slug));
    },
  });
  const reason = whyNotMove(move, app) ?? why(endpoint);
  return (
    <Stack gap="xs">
      <Group justify="space-between" gap="sm">
        <Stack gap={0} style={{ flex: '1 1 260px' }}>
          <Title order={3} size="h6">
            {verb} the app
          </Title>
          <Text size="sm" c="dimmed">
            {says}
          </Text>
          {reason !== null && (
            <Text size="sm" aria-hidden>
              {reason}
            </Text>
          )}
        </Stack>
        <MayButton
          why={reason}
          variant={color ? 'outline' : 'default'}
          color={color}
          loading={change.isBusy}
          onClick={() => void change.propose({ params })}
        >
          {verb}
        </MayButton>
      </Group>
      {change.problem !== null && <ProblemAlert error={change.problem} />}
    </Stack>
  );
}
