import { Alert, Stack, Text } from '@mantine/core';
import { cancelRun, getRun, listRuns, readRunLog } from '@svc/contract/runs.ts';
import { IconAlertCircle } from '@tabler/icons-react';
import { useParams } from 'wouter';
import { client, isMissing } from '../../../api/client.ts';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { useChange } from '../../../change/use-change.ts';
import { ChangeButton, CopyText } from '../../../components/buttons.tsx';
import { DetailGrid } from '../../../components/data-table.tsx';
import { TimeText } from '../../../components/display.tsx';
import { BackLink, ItemHead, LinkTo, Restricted } from '../../../components/page-layout.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { QueryView } from '../../../components/query-view.tsx';
import { Heading } from '../../../components/text.tsx';
import { NotFound } from '../../../layout/not-found.tsx';
import { formatDuration } from '../deployments/deployment.ts';
import { LogView } from '../logs/log-box.tsx';
import { useLog } from '../logs/use-log.ts';
import { restrictedTab, useApp, usePersonNames } from '../use-app.tsx';
import { isOpen, type Run, runMs, runText, whyNotCancel } from './run.ts';
import { RunsAndSchedules } from './run-lists.tsx';

export default restrictedTab(listRuns, 'the runs', RunsTab);

function RunsTab() {
  const { part } = useParams<{ part?: string }>();
  return part === undefined ? <RunsAndSchedules /> : <RunView key={part} id={part} />;
}

function RunView({ id }: { id: string }) {
  const { params, why, paths } = useApp();
  const one = { ...params, run: id };
  const answer = useEndpoint(
    getRun,
    { params: one },
    { refetchMs: (last) => (last === undefined || isOpen(last) ? 1_000 : 60_000) },
  );
  const cancel = useChange(cancelRun, {
    title: 'Cancel the run',
    verb: 'Cancel run',
    done: 'The run is being canceled.',
  });
  if (isMissing(answer.error)) return <NotFound error={answer.error} />;
  return (
    <Stack gap="md">
      <BackLink to={paths.app('runs')}>All runs</BackLink>
      <QueryView answer={answer} lines={8}>
        {(run) => (
          <>
            <ItemHead title={run.schedule ?? 'Command'} state={run.state}>
              <ChangeButton why={why(cancelRun) ?? whyNotCancel(run)} change={cancel} input={{ params: one }}>
                Cancel
              </ChangeButton>
            </ItemHead>
            <ProblemAlert error={cancel.problem} />
            {run.failure && (
              <Alert color={run.state === 'failed' ? 'red' : 'gray'} icon={<IconAlertCircle aria-hidden />}>
                <Text size="sm">{run.failure}</Text>
              </Alert>
            )}
            <RunDetails run={run} />
            <Restricted why={why(readRunLog)} what="the output">
              <RunLog run={run} />
            </Restricted>
          </>
        )}
      </QueryView>
    </Stack>
  );
}

function RunDetails({ run }: { run: Run }) {
  const { paths } = useApp();
  const nameOf = usePersonNames();
  return (
    <DetailGrid
      cols={{ base: 1, xs: 2, md: 3 }}
      spacing="sm"
      details={{
        Command: <span className="mono">{runText(run)}</span>,
        By: nameOf(run.created_by) ?? (run.created_by === null ? 'the schedule' : 'a person'),
        Due: run.due_at && <TimeText value={run.due_at} />,
        Started: <TimeText value={run.started_at} />,
        Duration: formatDuration(runMs(run, new Date())),
        'Exit code': run.exit_code === null ? null : String(run.exit_code),
        Build: run.deployment_id && <LinkTo to={paths.deployment(run.deployment_id)}>its deployment</LinkTo>,
        Id: <CopyText value={run.id} label="run id" />,
      }}
    />
  );
}

function RunLog({ run }: { run: Run }) {
  const { app, params } = useApp();
  const log = useLog(
    {
      key: run.id,
      from: 'start',
      read: (query, signal) =>
        client.call(readRunLog, { params: { ...params, run: run.id }, query }, { signal }),
    },
    false,
  );
  return (
    <Stack gap="sm">
      <Heading order={3}>Output</Heading>
      <LogView
        log={log}
        label="Output of the run"
        fileName={`${app.slug}-run.log`}
        empty={
          log.isEnded ? 'The command printed nothing, or its output is no longer stored.' : 'No output yet.'
        }
      />
    </Stack>
  );
}
