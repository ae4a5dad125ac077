import { Group, Stack, Title } from '@mantine/core';
import { readBuildLog } from '@svc/contract/deployments.ts';
import { client } from '../../../api/client.ts';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { useQueryParam } from '../../../parts/use-query-param.ts';
import { useSearchText } from '../../../parts/use-search-text.ts';
import { LogBox } from '../log/log-box.tsx';
import { fittingLines } from '../log/log-line.ts';
import { LogTools } from '../log/log-tools.tsx';
import { useLog } from '../log/use-log.ts';
import { useApp } from '../use-app.ts';
import type { Deployment } from './deployment-phases.ts';

/** What a deployment says while it is built and released, line by line as it comes. */
export function BuildLog({ deployment }: { deployment: Pick<Deployment, 'id' | 'seq'> }) {
  const { app, params } = useApp();
  const [words, setWords] = useSearchText('q');
  const [wrap, setWrap] = useQueryParam('wrap', 'yes', ['yes', 'no']);
  const log = useLog(
    {
      key: deployment.id,
      begin: 'start',
      read: (query, signal) =>
        client.call(readBuildLog, { params: { ...params, deployment: deployment.id }, query }, { signal }),
    },
    false,
  );
  const shown = fittingLines(log.lines, { words, stream: 'all', since: null });
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <Title order={3} size="h4">
          Build log
        </Title>
      </Group>
      <LogTools
        {...{ words, setWords, shown }}
        total={log.lines.length}
        isWrapped={wrap === 'yes'}
        setWrapped={(isOn) => setWrap(isOn ? 'yes' : 'no')}
        fileName={`${app.slug}-${deployment.seq}.log`}
      />
      {log.problem !== null && <ProblemAlert error={log.problem} retry={log.retry} />}
      <LogBox
        lines={shown}
        words={words}
        label={`Build log of deployment #${deployment.seq}`}
        isWrapped={wrap === 'yes'}
        empty={
          log.isEnded ? 'It has said nothing, or what it said is not kept any more.' : 'Nothing said yet.'
        }
      />
    </Stack>
  );
}
