import { Alert, Anchor, Group, Stack, Text, TextInput } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { disconnectGit, type getGitConnection, updateGit } from '@svc/contract/git-connections.ts';
import { type ReactNode, useState } from 'react';
import { useChange } from '../../../change/use-change.ts';
import { LinkTo } from '../../../parts/link-to.tsx';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { TimeText } from '../../../parts/time-text.tsx';
import { useApp } from '../use-app.ts';
import { whyNotActive } from '../why-not-active.ts';
import { shortCommit } from './deployment-texts.ts';

type GitStatus = Answer<NonNullable<typeof getGitConnection.shape>>;

const outcomes: Record<NonNullable<GitStatus['last_push']>['outcome'], string> = {
  deployed: 'was deployed',
  other_branch: 'was of another branch',
  repeated: 'was told of before',
  not_active: 'came while the app was not active',
  branch_deleted: 'deleted the branch',
};

export function GitConnected({
  connection,
  lastPush,
  children,
}: {
  connection: NonNullable<GitStatus['connection']>;
  lastPush: GitStatus['last_push'];
  /** What is done with it now. */
  children: ReactNode;
}) {
  const { app, tenant, params, why } = useApp();
  const [branch, setBranch] = useState(connection.branch);
  const update = useChange(updateGit, {
    title: 'Deploy from another branch',
    verb: 'Change the branch',
    done: 'Pushes to the new branch are deployed from now on.',
  });
  const disconnect = useChange(disconnectGit, {
    title: 'Disconnect the repository',
    verb: 'Disconnect',
    done: 'The repository is disconnected; what is deployed stays.',
  });
  const isSame = branch.trim() === connection.branch;
  const inactive = whyNotActive(app);
  return (
    <Stack gap="sm">
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        <Anchor href={connection.web_url} target="_blank" rel="noreferrer" inherit underline="always">
          {connection.repo}
        </Anchor>
        , branch <strong>{connection.branch}</strong>, connected <TimeText value={connection.connected_at} />
        {'. '}
        {lastPush === null ? (
          'Nothing was pushed since.'
        ) : (
          <>
            The last push (<span className="mono">{shortCommit(lastPush.commit)}</span> to {lastPush.branch},{' '}
            <TimeText value={lastPush.received_at} />){' '}
            {lastPush.deployment_id ? (
              <LinkTo
                to={consolePaths.deployment(tenant.slug, app.slug, lastPush.deployment_id)}
                inherit
                underline="always"
              >
                {outcomes[lastPush.outcome]}
              </LinkTo>
            ) : (
              outcomes[lastPush.outcome]
            )}
            .
          </>
        )}
      </Text>
      {connection.hook.state === 'failed' && (
        <Alert color="yellow" title="Pushes are not told of">
          {connection.hook.detail}
        </Alert>
      )}
      {children}
      <Group align="flex-end" gap="sm">
        <TextInput
          label="Deploy pushes to branch"
          value={branch}
          error={update.errorOf('branch')}
          onChange={(event) => setBranch(event.currentTarget.value)}
          style={{ flex: '0 1 16rem' }}
        />
        <MayButton
          variant="default"
          loading={update.isBusy}
          why={why(updateGit) ?? inactive ?? (isSame ? 'It is deployed from this branch already.' : null)}
          onClick={() => void update.propose({ params, body: { branch: branch.trim() } })}
        >
          Change the branch
        </MayButton>
        <MayButton
          variant="default"
          loading={disconnect.isBusy}
          why={why(disconnectGit)}
          onClick={() => void disconnect.propose({ params })}
        >
          Disconnect
        </MayButton>
      </Group>
      {[update.problem, disconnect.problem].map(
        (problem, at) =>
          // biome-ignore lint/suspicious/noArrayIndexKey: there are these two.
          problem !== null && <ProblemAlert key={at} error={problem} />,
      )}
    </Stack>
  );
}
