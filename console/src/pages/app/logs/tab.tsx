import { Group, NativeSelect, Stack, Switch, Text } from '@mantine/core';
import { listDeployments, readAppLog } from '@svc/contract/deployments.ts';
import { IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react';
import { useState } from 'react';
import { client } from '../../../api/client.ts';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { EmptyState, Restricted } from '../../../components/page-layout.tsx';
import { Heading, SecondaryButton } from '../../../components/text.tsx';
import { useUrlChoice, useUrlValue } from '../../../components/url-state.ts';
import { useApp } from '../use-app.tsx';
import { LogView } from './log-box.tsx';
import { logLinesMax, logRanges, rangeLabels, rangeStart } from './log-line.ts';
import { ProcessSelect } from './process-select.tsx';
import { type Log, useLog } from './use-log.ts';

export default function LogsTab() {
  const { app, why } = useApp();
  if (app.deploy_method === 'static')
    return (
      <EmptyState title="Static apps have no log">
        The platform serves the files of this app; no process runs. See Metrics for its requests.
      </EmptyState>
    );
  return (
    <Restricted why={why(readAppLog)} what="the log">
      <AppLog />
    </Restricted>
  );
}

const streams = ['all', 'stdout', 'stderr', 'platform'] as const;
const streamLabels = { all: 'All', stdout: 'Output', stderr: 'Errors', platform: 'Platform' } as const;

function AppLog() {
  const { app, params } = useApp();
  const [stream, setStream] = useUrlChoice('stream', 'all', streams);
  const [range, setRange] = useUrlChoice('range', 'recent', logRanges);
  const [deployment, setDeployment] = useUrlValue('deployment');
  const [process, setProcess] = useUrlValue('process');
  const [isPaused, setPaused] = useState(false);
  const [isSaid, setSaid] = useState(false);
  const from = range === 'recent' ? 'tail' : 'start';
  const log = useLog(
    {
      key: `${app.id} ${deployment} ${process} ${from}`,
      from,
      read: (query, signal) =>
        client.call(
          readAppLog,
          {
            params,
            query: { ...query, deployment: deployment || undefined, process: process || undefined },
          },
          { signal },
        ),
    },
    isPaused,
  );
  const hasNoOutput = log.isCaughtUp && log.lines.length === 0 && app.runtime === 'none';

  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Heading>{logState(log, { isPaused })}</Heading>
        <Group gap="md">
          <Switch
            label="Announce new lines"
            checked={isSaid}
            onChange={(event) => setSaid(event.currentTarget.checked)}
          />
          <SecondaryButton
            onClick={() => setPaused(!isPaused)}
            leftSection={
              isPaused ? <IconPlayerPlay size={16} aria-hidden /> : <IconPlayerPause size={16} aria-hidden />
            }
          >
            {isPaused ? 'Resume' : 'Pause'}
          </SecondaryButton>
        </Group>
      </Group>
      <LogView
        log={log}
        filter={{ stream, since: rangeStart(range, new Date()) }}
        label={`Log of ${app.name}`}
        fileName={`${app.slug}.log`}
        live={isSaid ? 'polite' : 'off'}
        empty={emptyText(log.isCaughtUp, log.lines.length)}
        notice={
          log.lines.length >= logLinesMax && (
            <Text size="sm">Only the last {logLinesMax.toLocaleString('en')} lines are shown.</Text>
          )
        }
        placeholder={
          hasNoOutput && (
            <EmptyState title="No output yet" command={`svc logs --app ${app.slug} --follow`}>
              The standard output and standard error of the app appear here while it runs.
            </EmptyState>
          )
        }
      >
        <NativeSelect
          label="Stream"
          value={stream}
          onChange={(event) => setStream(event.currentTarget.value as typeof stream)}
          data={streams.map((value) => ({ value, label: streamLabels[value] }))}
        />
        <NativeSelect
          label="Time"
          value={range}
          onChange={(event) => setRange(event.currentTarget.value as typeof range)}
          data={logRanges.map((value) => ({ value, label: rangeLabels[value] }))}
        />
        <DeploymentSelect value={deployment} onChange={setDeployment} />
        <ProcessSelect value={process} onChange={setProcess} />
      </LogView>
    </Stack>
  );
}

function logState({ isEnded, problem }: Log, { isPaused }: { isPaused: boolean }): string {
  if (isEnded) return 'Complete log';
  if (problem !== null) return 'Interrupted';
  return isPaused ? 'Paused' : 'Live';
}

function emptyText(isCaughtUp: boolean, total: number): string {
  if (!isCaughtUp) return 'Reading …';
  return total === 0 ? 'No output yet. New lines appear automatically.' : 'No line matches.';
}

const newest = 30;

function DeploymentSelect({ value, onChange }: { value: string; onChange: (id: string) => void }) {
  const { params } = useApp();
  const { data } = useEndpoint(listDeployments, { params, query: { per_page: newest } });
  const ran = data?.items.filter(({ live_at, id }) => live_at !== null || id === value) ?? [];
  return (
    <NativeSelect
      label="Deployment"
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      data={[
        { value: '', label: 'All' },
        ...ran.map(({ id, seq, state }) => ({ value: id, label: `#${seq} (${state})` })),
        // The deployment in the URL may be older than the listed ones.
        ...(value !== '' && !ran.some(({ id }) => id === value) ? [{ value, label: value.slice(-12) }] : []),
      ]}
    />
  );
}
