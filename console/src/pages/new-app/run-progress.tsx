import { Alert, Button, Group, List, Loader, Paper, Stack, Text, ThemeIcon } from '@mantine/core';
import {
  bootstrapEndStates,
  cancelBootstrap,
  getBootstrap,
  type startBootstrap,
} from '@svc/contract/bootstrap.ts';
import { consolePaths } from '@svc/contract/console-paths.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { pollGitLink, startGitLink } from '@svc/contract/git-host.ts';
import { IconAlertCircle, IconCheck, IconPoint, IconX } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from 'wouter';
import { client } from '../../api/client.ts';
import { useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { useChange } from '../../change/use-change.ts';
import { ChangeButton, CopyText } from '../../components/buttons.tsx';
import { StateBadge } from '../../components/display.tsx';
import { ExternalLink } from '../../components/page-layout.tsx';
import { ProblemAlert } from '../../components/problem-alert.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { Heading, Hint } from '../../components/text.tsx';

const runPollMs = 1_500;
const isOver = (state: string) => bootstrapEndStates.some((end) => end === state);

export function RunProgress({
  id,
  code,
  setCode,
}: {
  id: string;
  code: GitCode | null;
  setCode: (code: GitCode | null) => void;
}) {
  const tenant = useTenant();
  const params = { tenantID: tenant.id, run: id };
  const answer = useEndpoint(
    getBootstrap,
    { params },
    { refetchMs: (last) => (last && isOver(last.state) ? false : runPollMs) },
  );
  const cancel = useChange(cancelBootstrap, {
    title: 'Cancel the creation',
    verb: 'Cancel creation',
    done: 'The creation stops after the current step.',
  });
  return (
    <QueryView answer={answer} lines={6}>
      {(run) => (
        <Stack>
          {run.state === 'awaiting_approval' && <ApprovalCard code={code} setCode={setCode} />}
          {isOver(run.state) && <RunEnd run={run} />}
          <Paper withBorder p={{ base: 'md', sm: 'lg' }}>
            <Group justify="space-between" mb="md">
              <Heading>
                {run.kind === 'fork' ? 'Fork' : 'Create'} {run.slug}
              </Heading>
              <StateBadge
                state={run.state === 'running' ? 'building' : run.state}
                label={runStateTexts[run.state]}
              />
            </Group>
            <RunSteps steps={run.steps} />
            {!isOver(run.state) && (
              <Group mt="md">
                <ChangeButton change={cancel} input={{ params }}>
                  Cancel
                </ChangeButton>
              </Group>
            )}
            <ProblemAlert error={cancel.problem} />
          </Paper>
        </Stack>
      )}
    </QueryView>
  );
}

const runStateTexts = {
  awaiting_approval: 'waiting for you',
  running: 'in progress',
  done: 'done',
  failed: 'failed',
  canceled: 'cancelled',
} as const;

function ApprovalCard({ code, setCode }: { code: GitCode | null; setCode: (code: GitCode | null) => void }) {
  const params = { tenantID: useTenant().id };
  const another = useChange(startGitLink, {
    title: 'Get a new code',
    verb: 'Get code',
    done: 'Code created.',
    onDone: setCode,
  });
  const refusal = usePolling(code);
  return (
    <Paper withBorder p={{ base: 'md', sm: 'lg' }}>
      <Stack>
        <Heading>Link git account</Heading>
        {code === null || refusal !== null ? (
          <>
            <Text>
              The creation waits until you link your git account. Get a code and approve it at the git host.
            </Text>
            <ProblemAlert error={refusal} />
            <div>
              <ChangeButton variant="filled" change={another} input={{ params }}>
                Get a new code
              </ChangeButton>
            </div>
          </>
        ) : (
          <>
            <Text>
              Open{' '}
              <ExternalLink to={code.verification_uri} underline="always">
                {code.verification_uri}
              </ExternalLink>{' '}
              and enter this code. This page continues once it is approved.
            </Text>
            <Text fz={28} fw={700} className="mono" component="div">
              <CopyText value={code.user_code} label="code" />
            </Text>
          </>
        )}
        <ProblemAlert error={another.problem} />
      </Stack>
    </Paper>
  );
}

function usePolling(code: GitCode | null): unknown {
  const params = { tenantID: useTenant().id };
  const queries = useQueryClient();
  const { error } = useQuery({
    queryKey: [pollGitLink.id, params, code?.user_code],
    queryFn: async () => {
      const link = await client.call(pollGitLink, { params, body: { device_code: code?.device_code ?? '' } });
      if (link.status === 'linked') await queries.invalidateQueries({ queryKey: [getBootstrap.id] });
      return link;
    },
    enabled: code !== null,
    refetchInterval: ({ state }) =>
      state.error || state.data?.status === 'linked'
        ? false
        : (state.data?.interval_seconds ?? code?.interval_seconds ?? 5) * 1_000,
    // No refetch on focus: the git host counts every request.
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  return error;
}

type Step = Answer<NonNullable<typeof getBootstrap.shape>>['steps'][number];

const stepTexts: Readonly<Record<string, string>> = {
  authorize: 'Link git account',
  reserve_app: 'Create the app',
  create_repo: 'Create the repository',
  seed_repo: 'Add the initial code',
  connect: 'Connect the repository',
  first_deploy: 'First deployment',
};
const stepStateTexts: Readonly<Record<Step['state'], string>> = {
  waiting: 'not started',
  running: 'in progress',
  done: 'done',
  failed: 'failed',
};

function RunSteps({ steps }: { steps: readonly Step[] }) {
  return (
    <List type="ordered" listStyleType="none" spacing="sm" center={false} aria-label="Steps">
      {steps.map((step) => (
        <List.Item key={step.name} icon={<StepIcon state={step.state} />}>
          <Stack gap={0}>
            <Group gap="xs">
              <Text fw={step.state === 'running' ? 600 : undefined}>{stepTexts[step.name] ?? step.name}</Text>
              <Hint>
                {stepStateTexts[step.state]}
                {step.attempts > 1 && `, attempt ${step.attempts}`}
              </Hint>
            </Group>
            {step.detail && <Hint className="mono">{step.detail}</Hint>}
          </Stack>
        </List.Item>
      ))}
    </List>
  );
}

function StepIcon({ state }: { state: Step['state'] }) {
  if (state === 'running') return <Loader size={22} aria-hidden />;
  const [color, Icon] =
    state === 'done'
      ? (['green', IconCheck] as const)
      : state === 'failed'
        ? (['red', IconX] as const)
        : (['gray', IconPoint] as const);
  return (
    <ThemeIcon size={22} radius="xl" variant="light" color={color} aria-hidden>
      <Icon size={14} />
    </ThemeIcon>
  );
}

type Run = Answer<NonNullable<typeof getBootstrap.shape>>;

function RunEnd({ run }: { run: Run }) {
  const tenant = useTenant();
  if (run.state === 'done')
    return (
      <Alert color="green" icon={<IconCheck aria-hidden />} title="App created" role="status">
        <Stack gap="sm">
          <Group gap="md">
            <Button component={Link} href={consolePaths.app(tenant.slug, run.slug)} size="compact-md">
              Open the app’s page
            </Button>
            {run.url !== null && (
              <ExternalLink to={run.url} c="inherit" td="underline">
                Open app
              </ExternalLink>
            )}
          </Group>
          {run.clone_url !== null && (
            <div>
              <Text size="sm">Clone the code:</Text>
              <CopyText value={`git clone ${run.clone_url}`} label="clone command" />
            </div>
          )}
        </Stack>
      </Alert>
    );
  return (
    <Alert
      color="red"
      icon={<IconAlertCircle aria-hidden />}
      title={run.state === 'canceled' ? 'Creation cancelled' : 'Creation failed'}
      role="alert"
    >
      <Stack gap="sm">
        {run.failure && (
          <Text size="sm">
            {run.failure.detail} (<span className="mono">{run.failure.code}</span>)
          </Text>
        )}
        {run.undo.length > 0 && (
          <div>
            <Text size="sm">The created resources still exist. To remove them:</Text>
            {run.undo.map((line) => (
              <CopyText key={line} value={line} label="command" />
            ))}
          </div>
        )}
      </Stack>
    </Alert>
  );
}

export type StartedRun = Answer<NonNullable<typeof startBootstrap.shape>>;
export type GitCode = NonNullable<StartedRun['approval']>;
