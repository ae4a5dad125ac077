import { Stack, Text } from '@mantine/core';
import { listRuns, listScheduleRuns, listSchedules, runSchedule } from '@svc/contract/runs.ts';
import { useLocation } from 'wouter';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { useChange } from '../../../change/use-change.ts';
import { RowButton } from '../../../components/buttons.tsx';
import { DataTable } from '../../../components/data-table.tsx';
import { StateBadge, TimeText } from '../../../components/display.tsx';
import { BoldLink, EmptyState, SmallLink } from '../../../components/page-layout.tsx';
import { PagedList } from '../../../components/paged-list.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { Heading, Hint } from '../../../components/text.tsx';
import { usePage, useUrlValue } from '../../../components/url-state.ts';
import { formatDuration } from '../deployments/deployment.ts';
import { useApp, usePersonNames } from '../use-app.tsx';
import { isOpen, type Run, runMs, runText, type Schedule } from './run.ts';

const perPage = 20;
const busyMs = 2_000;
const idleMs = 15_000;

/** `?schedule=name` shows the runs of a schedule instead of those of people. */
export function RunsAndSchedules() {
  const { paths } = useApp();
  const [schedule] = useUrlValue('schedule');
  return (
    <Stack gap="lg">
      <ScheduleList />
      {schedule === '' ? (
        <PeoplesRuns />
      ) : (
        <Stack gap="sm">
          <SmallLink to={paths.app('runs')}>Commands of people</SmallLink>
          <ScheduleRuns key={schedule} name={schedule} />
        </Stack>
      )}
    </Stack>
  );
}

function ScheduleList() {
  const { params } = useApp();
  const answer = useEndpoint(listSchedules, { params, query: { per_page: 50 } }, { refetchMs: () => idleMs });
  return (
    <Stack gap="sm">
      <Heading>Schedules</Heading>
      <PagedList
        answer={answer}
        empty={
          <EmptyState title="No schedules">
            svc.yaml declares what runs at fixed times: a command, or a POST request to the app.
          </EmptyState>
        }
      >
        {(items) => <ScheduleTable schedules={items} />}
      </PagedList>
    </Stack>
  );
}

function ScheduleTable({ schedules }: { schedules: readonly Schedule[] }) {
  const { params, paths, why } = useApp();
  const [, go] = useLocation();
  const change = useChange(runSchedule, {
    title: 'Run the schedule now',
    verb: 'Run now',
    done: 'The run has started.',
    onDone: ({ id }) => go(paths.run(id)),
  });
  return (
    <Stack gap="sm">
      <ProblemAlert error={change.problem} />
      <DataTable
        label="Schedules"
        minWidth={760}
        rows={schedules}
        keyOf={({ name }) => name}
        columns={[
          {
            head: 'Schedule',
            cell: (one) => (
              <Stack gap={0} maw={320}>
                <BoldLink to={`${paths.app('runs')}?schedule=${one.name}`}>{one.name}</BoldLink>
                <Hint lineClamp={1} className="mono">
                  {runText(one)}
                </Hint>
              </Stack>
            ),
          },
          {
            head: 'Times',
            cell: ({ cron, timezone }) => (
              <Stack gap={0}>
                <Text size="sm" className="mono">
                  {cron}
                </Text>
                <Hint>{timezone}</Hint>
              </Stack>
            ),
          },
          { head: 'Next', cell: ({ next_at }) => <TimeText value={next_at} /> },
          {
            head: 'Last',
            cell: ({ last }) =>
              last && (
                <SmallLink to={paths.run(last.id)}>
                  <StateBadge state={last.state} /> <TimeText value={last.due_at ?? last.created_at} />
                </SmallLink>
              ),
          },
          {
            head: 'Actions',
            cell: ({ name }) => (
              <RowButton
                verb="Run now"
                name={name}
                why={why(runSchedule)}
                onClick={() => void change.propose({ params: { ...params, name } })}
              />
            ),
          },
        ]}
      />
    </Stack>
  );
}

function PeoplesRuns() {
  const { app, params } = useApp();
  const query = { page: usePage(), per_page: perPage };
  const answer = useEndpoint(listRuns, { params, query }, { refetchMs: refetch });
  return (
    <Stack gap="sm">
      <Heading>Commands</Heading>
      <PagedList
        answer={answer}
        empty={
          <EmptyState title="No commands yet" command={`svc run --app ${app.slug} -- npm run migrate`}>
            A command runs once in the live build, with the variables and limits of the app.
          </EmptyState>
        }
      >
        {(items) => <RunTable runs={items} label="Commands" />}
      </PagedList>
    </Stack>
  );
}

function ScheduleRuns({ name }: { name: string }) {
  const { params } = useApp();
  const query = { page: usePage(), per_page: perPage };
  const input = { params: { ...params, name }, query };
  const answer = useEndpoint(listScheduleRuns, input, { refetchMs: refetch });
  return (
    <Stack gap="sm">
      <Heading>Runs of {name}</Heading>
      <PagedList
        answer={answer}
        empty={<EmptyState title="It has not run yet">Its first scheduled time is in the future.</EmptyState>}
      >
        {(items) => <RunTable runs={items} label={`Runs of ${name}`} />}
      </PagedList>
    </Stack>
  );
}

const refetch = (last: { items: readonly Run[] } | undefined) => (last?.items.some(isOpen) ? busyMs : idleMs);

function RunTable({ runs, label }: { runs: readonly Run[]; label: string }) {
  const { paths } = useApp();
  const nameOf = usePersonNames();
  const now = new Date();
  return (
    <DataTable
      label={label}
      minWidth={680}
      rows={runs}
      columns={[
        {
          head: 'Run',
          cell: (run) => (
            <Stack gap={0} maw={360}>
              <BoldLink to={paths.run(run.id)}>{runText(run)}</BoldLink>
              <Hint lineClamp={1}>{run.failure}</Hint>
            </Stack>
          ),
        },
        { head: 'State', cell: ({ state }) => <StateBadge state={state} /> },
        { head: 'Exit code', cell: ({ exit_code }) => exit_code ?? '–' },
        { head: 'By', cell: (run) => nameOf(run.created_by) ?? (run.due_at === null ? '–' : 'the schedule') },
        { head: 'At', cell: (run) => <TimeText value={run.due_at ?? run.created_at} /> },
        {
          head: 'Duration',
          cell: (run) => formatDuration(runMs(run, now)),
          td: { style: { whiteSpace: 'nowrap' } },
        },
      ]}
    />
  );
}
