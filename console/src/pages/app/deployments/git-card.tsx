import { Alert, Group, Paper, Stack, Text, TextInput } from '@mantine/core';
import type { Answer } from '@svc/contract/endpoint.ts';
import {
  beginGitConnection,
  connectGit,
  disconnectGit,
  getGitConnection,
  updateGit,
} from '@svc/contract/git-connections.ts';
import type { ReactNode } from 'react';
import { isCode } from '../../../api/client.ts';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { useChange } from '../../../change/use-change.ts';
import { ChangeButton } from '../../../components/buttons.tsx';
import { StateBadge, TimeText } from '../../../components/display.tsx';
import { FormElement, SubmitButton } from '../../../components/form-card.tsx';
import { ExternalLink, LinkTo } from '../../../components/page-layout.tsx';
import { ProblemAlert, ProblemAlerts } from '../../../components/problem-alert.tsx';
import { QueryView } from '../../../components/query-view.tsx';
import { Heading } from '../../../components/text.tsx';
import { useForm } from '../../../components/use-form.ts';
import { whyNotActive } from '../rules.ts';
import { useApp } from '../use-app.tsx';
import { DeployNow } from './deploy-buttons.tsx';
import { shortCommit } from './deployment.ts';

export function GitCard() {
  const { params } = useApp();
  const answer = useEndpoint(getGitConnection, { params }, { refetchMs: 15_000 });
  return (
    <Paper withBorder p="md" component="section" aria-label="Repository">
      <Stack gap="md">
        <Group gap="sm">
          <Heading>Repository</Heading>
          {answer.data?.connection && (
            <StateBadge
              state={answer.data.connection.hook.state}
              label={hookTexts[answer.data.connection.hook.state]}
            />
          )}
        </Group>
        <QueryView answer={answer} lines={2}>
          {({ connection, last_push, push_url }) =>
            connection ? (
              <GitConnected connection={connection} lastPush={last_push}>
                <DeployNow branch={connection.branch} />
              </GitConnected>
            ) : (
              <>
                <Text size="sm">
                  No repository is connected. Connect one to deploy every push to its branch.
                </Text>
                {push_url !== null && (
                  <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
                    Or push to <span className="mono">{push_url}</span>: the first push creates the
                    repository, connects it and deploys.
                  </Text>
                )}
                <GitConnectForm />
              </>
            )
          }
        </QueryView>
      </Stack>
    </Paper>
  );
}

const hookTexts = {
  ok: 'pushes are deployed',
  waiting: 'webhook is being set up',
  failed: 'webhook failed',
} as const;

function GitConnectForm() {
  const { app, params, why } = useApp();
  const record = { repo: '', branch: 'main' };
  const form = useForm(connectGit, record, {
    title: 'Connect a repository',
    done: 'Repository connected. The next push is deployed.',
    whyNot: () => why(connectGit) ?? whyNotActive(app),
    input: ({ repo, branch }) => ({ params, body: { repo: repo.trim(), branch: branch.trim() } }),
  });
  const install = useChange(beginGitConnection, {
    title: 'Install the git host app',
    verb: 'Go to the git host',
    done: 'Continue at the git host.',
    onDone: ({ install_url }) => window.location.assign(install_url),
  });
  const problem = form.problem ?? install.problem;
  const body = { repo: form.values.repo.trim(), branch: form.values.branch.trim() };
  return (
    <FormElement form={form}>
      <Stack gap="sm">
        <Group align="flex-end" gap="sm">
          <TextInput
            {...form.field('repo')}
            label="Repository"
            placeholder="owner/name"
            required
            style={{ flex: '1 1 14rem' }}
            maw={360}
          />
          <TextInput {...form.field('branch')} required style={{ flex: '0 1 10rem' }} />
          <SubmitButton form={form}>Connect</SubmitButton>
        </Group>
        <ProblemAlert error={problem} />
        {isCode(problem, 'git_account_required') && (
          <Text size="sm">Link your git account first: svc git-host link</Text>
        )}
        {isCode(problem, 'installation_missing') && (
          <ChangeButton why={why(beginGitConnection)} change={install} input={{ params, body }}>
            Install at the git host
          </ChangeButton>
        )}
      </Stack>
    </FormElement>
  );
}

type GitStatus = Answer<NonNullable<typeof getGitConnection.shape>>;

function GitConnected({
  connection,
  lastPush,
  children,
}: {
  connection: NonNullable<GitStatus['connection']>;
  lastPush: GitStatus['last_push'];
  children: ReactNode;
}) {
  const { app, params, why, paths } = useApp();
  const record = { branch: connection.branch };
  const form = useForm(updateGit, record, {
    title: 'Deploy from another branch',
    verb: 'Change branch',
    done: 'Pushes to the new branch are deployed from now on.',
    whyNot: ({ branch }) =>
      why(updateGit) ??
      whyNotActive(app) ??
      (branch.trim() === connection.branch ? 'This branch is already deployed.' : null),
    input: ({ branch }) => ({ params, body: { branch: branch.trim() } }),
  });
  const disconnect = useChange(disconnectGit, {
    title: 'Disconnect the repository',
    done: 'Repository disconnected. The deployed app stays live.',
  });
  return (
    <Stack gap="sm">
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        <ExternalLink to={connection.web_url} inherit underline="always">
          {connection.repo}
        </ExternalLink>
        , branch <strong>{connection.branch}</strong>, connected <TimeText value={connection.connected_at} />
        {'. '}
        {lastPush === null ? (
          'No push since then.'
        ) : (
          <>
            The last push (<span className="mono">{shortCommit(lastPush.commit)}</span> to {lastPush.branch},{' '}
            <TimeText value={lastPush.received_at} />
            ):{' '}
            {lastPush.deployment ? (
              <LinkTo to={paths.deployment(lastPush.deployment.id)} inherit underline="always">
                {lastPush.summary}
              </LinkTo>
            ) : (
              lastPush.summary
            )}
          </>
        )}
      </Text>
      {connection.hook.state === 'failed' && (
        <Alert color="yellow" title="Push notifications fail">
          {connection.hook.detail}
        </Alert>
      )}
      {children}
      <FormElement form={form}>
        <Group align="flex-end" gap="sm">
          <TextInput
            {...form.field('branch')}
            label="Deploy pushes to branch"
            style={{ flex: '0 1 16rem' }}
          />
          <SubmitButton form={form} variant="default">
            Change branch
          </SubmitButton>
          <ChangeButton why={why(disconnectGit)} change={disconnect} input={{ params }}>
            Disconnect
          </ChangeButton>
        </Group>
      </FormElement>
      <ProblemAlerts changes={[form, disconnect]} />
    </Stack>
  );
}
