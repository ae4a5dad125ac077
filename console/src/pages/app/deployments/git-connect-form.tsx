import { Group, Stack, Text, TextInput } from '@mantine/core';
import { beginGitConnection, connectGit } from '@svc/contract/git-connections.ts';
import { type FormEvent, useState } from 'react';
import { isCode } from '../../../api/query-client.ts';
import { useChange } from '../../../change/use-change.ts';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { useApp } from '../use-app.ts';
import { whyNotActive } from '../why-not-active.ts';

export function GitConnectForm() {
  const { app, params, why } = useApp();
  const [repo, setRepo] = useState('');
  const [branch, setBranch] = useState('main');
  const connect = useChange(connectGit, {
    title: 'Connect a repository',
    verb: 'Connect',
    done: 'The repository is connected; the next push is deployed.',
  });
  const begin = useChange(beginGitConnection, {
    title: 'Install the app of the git host',
    verb: 'Go to the git host',
    done: 'Go on at the git host.',
    onDone: ({ install_url }) => window.location.assign(install_url),
  });
  const body = { repo: repo.trim(), branch: branch.trim() };
  const cannot = why(connectGit) ?? whyNotActive(app);
  const problem = connect.problem ?? begin.problem;

  function submit(event: FormEvent) {
    event.preventDefault();
    if (cannot === null) void connect.propose({ params, body });
  }

  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <Group align="flex-end" gap="sm">
          <TextInput
            label="Repository"
            placeholder="owner/name"
            value={repo}
            required
            error={connect.errorOf('repo')}
            onChange={(event) => setRepo(event.currentTarget.value)}
            style={{ flex: '1 1 14rem' }}
            maw={360}
          />
          <TextInput
            label="Branch"
            value={branch}
            required
            error={connect.errorOf('branch')}
            onChange={(event) => setBranch(event.currentTarget.value)}
            style={{ flex: '0 1 10rem' }}
          />
          <MayButton why={cannot} type="submit" loading={connect.isBusy} onClick={() => {}}>
            Connect
          </MayButton>
        </Group>
        {problem !== null && <ProblemAlert error={problem} />}
        {isCode(problem, 'git_account_required') && (
          <Text size="sm">Link your account at the git host first: svc git-host link</Text>
        )}
        {isCode(problem, 'installation_missing') && (
          <MayButton
            variant="default"
            why={why(beginGitConnection)}
            loading={begin.isBusy}
            onClick={() => void begin.propose({ params, body })}
          >
            Install it at the git host
          </MayButton>
        )}
      </Stack>
    </form>
  );
}
