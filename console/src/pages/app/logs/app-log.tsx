import { Button, Group, NativeSelect, Stack, Switch, Text, Title } from '@mantine/core';
import { readAppLog } from '@svc/contract/deployments.ts';
import { IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react';
import { useState } from 'react';
import { client } from '../../../api/client.ts';
import { Empty } from '../../../parts/empty.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { useQueryParam } from '../../../parts/use-query-param.ts';
import { useSearchText } from '../../../parts/use-search-text.ts';
import { useSearchValue } from '../../../parts/use-search-value.ts';
import { LogBox } from '../log/log-box.tsx';
import { fittingLines, keptLinesMax } from '../log/log-line.ts';
import { LogTools } from '../log/log-tools.tsx';
import { type Log, useLog } from '../log/use-log.ts';
import { useApp } from '../use-app.ts';
import { DeploymentSelect } from './deployment-select.tsx';
import { logRanges, rangeLabels, rangeStart } from './log-range.ts';

const streams = ['all', 'stdout', 'stderr', 'platform'] as const;
const streamLabels = { all: 'All', stdout: 'Output', stderr: 'Errors', platform: 'Platform' } as const;

export function AppLog() {
  const { app, params } = useApp();
  const [words, setWords] = useSearchText('q');
  const [stream, setStream] = useQueryParam('stream', 'all', streams);
  const [range, setRange] = useQueryParam('range', 'recent', logRanges);
  const [deployment, setDeployment] = useSearchValue('deployment');
  const [wrap, setWrap] = useQueryParam('wrap', 'yes', ['yes', 'no']);
  const [isPaused, setPaused] = useState(false);
  const [isSaid, setSaid] = useState(false);
  const begin = range === 'recent' ? 'tail' : 'start';
  const log = useLog(
    {
      key: `${app.id} ${deployment} ${begin}`,
      begin,
      read: (query, signal) =>
        client.call(
          readAppLog,
          { params, query: { ...query, ...(deployment === '' ? {} : { deployment }) } },
          { signal },
        ),
    },
    isPaused,
  );
  const shown = fittingLines(log.lines, { words, stream, since: rangeStart(range, new Date()) });

  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={2} size="h4">
          {stateOf(log, { isPaused })}
        </Title>
        <Group gap="md">
          <Switch
            label="Read new lines aloud"
            checked={isSaid}
            onChange={(event) => setSaid(event.currentTarget.checked)}
          />
          <Button
            variant="default"
            onClick={() => setPaused(!isPaused)}
            leftSection={
              isPaused ? <IconPlayerPlay size={16} aria-hidden /> : <IconPlayerPause size={16} aria-hidden />
            }
          >
            {isPaused ? 'Go on' : 'Pause'}
          </Button>
        </Group>
      </Group>
      <LogTools
        {...{ words, setWords, shown }}
        total={log.lines.length}
        isWrapped={wrap === 'yes'}
        setWrapped={(isOn) => setWrap(isOn ? 'yes' : 'no')}
        fileName={`${app.slug}.log`}
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
      </LogTools>
      {log.lines.length >= keptLinesMax && (
        <Text size="sm">
          These are the last {keptLinesMax.toLocaleString('en')} lines; earlier ones are not shown here.
        </Text>
      )}
      {log.problem !== null && <ProblemAlert error={log.problem} retry={log.retry} />}
      {log.isCaughtUp && log.lines.length === 0 && app.runtime === 'none' ? (
        <Empty title="Nothing has run yet" command={`svc logs --app ${app.slug} --follow`}>
          What the app writes to its standard output and its standard error appears here while it runs.
        </Empty>
      ) : (
        <LogBox
          {...{ words }}
          lines={shown}
          label={`Log of ${app.name}`}
          isWrapped={wrap === 'yes'}
          live={isSaid ? 'polite' : 'off'}
          empty={emptyText(log.isCaughtUp, log.lines.length)}
        />
      )}
    </Stack>
  );
}

function stateOf({ isEnded, problem }: Log, { isPaused }: { isPaused: boolean }): string {
  if (isEnded) return 'The whole log';
  if (problem !== null) return 'Interrupted';
  return isPaused ? 'Paused' : 'Live';
}

function emptyText(isCaughtUp: boolean, total: number): string {
  if (!isCaughtUp) return 'Reading …';
  return total === 0 ? 'Nothing written yet. New lines appear by themselves.' : 'No line fits the search.';
}
