import { Anchor, Paper, Stack, Text, Title } from '@mantine/core';
import { getBootstrap } from '@svc/contract/bootstrap.ts';
import { pollGitLink, startGitLink } from '@svc/contract/git-host.ts';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { client } from '../../api/client.ts';
import { useTenant } from '../../api/me.ts';
import { useChange } from '../../change/use-change.ts';
import { CopyText } from '../../parts/copy-text.tsx';
import { MayButton } from '../../parts/may-button.tsx';
import { ProblemAlert } from '../../parts/problem-alert.tsx';
import type { GitCode } from './started-run.ts';

/** The run waits until its maker has linked their account at the git host. */
export function ApprovalCard({
  code,
  setCode,
}: {
  code: GitCode | null;
  setCode: (code: GitCode | null) => void;
}) {
  const params = { tenantID: useTenant().id };
  const another = useChange(startGitLink, {
    title: 'Get another code',
    verb: 'Get the code',
    done: 'The code is there.',
    onDone: setCode,
  });
  const refusal = usePolling(code);
  return (
    <Paper withBorder p={{ base: 'md', sm: 'lg' }}>
      <Stack>
        <Title order={2} size="h4">
          Approve it at the git host
        </Title>
        {code === null || refusal !== null ? (
          <>
            <Text>The making waits for your account at the git host. Get a code and approve it there.</Text>
            {refusal !== null && <ProblemAlert error={refusal} />}
            <div>
              <MayButton why={null} loading={another.isBusy} onClick={() => void another.propose({ params })}>
                Get another code
              </MayButton>
            </div>
          </>
        ) : (
          <>
            <Text>
              Open{' '}
              <Anchor href={code.verification_uri} target="_blank" rel="noreferrer" underline="always">
                {code.verification_uri}
              </Anchor>{' '}
              and enter this code. This page goes on by itself once it is approved.
            </Text>
            <Text fz={28} fw={700} className="mono" component="div">
              <CopyText value={code.user_code} label="code" />
            </Text>
          </>
        )}
        {another.problem !== null && <ProblemAlert error={another.problem} />}
      </Stack>
    </Paper>
  );
}

/** Asks as often as the git host allows; what it refuses for good is returned. */
function usePolling(code: GitCode | null): unknown {
  const params = { tenantID: useTenant().id };
  const queries = useQueryClient();
  const { error } = useQuery({
    queryKey: [pollGitLink.id, params, code?.user_code],
    queryFn: async () => {
      const said = await client.call(pollGitLink, { params, body: { device_code: code?.device_code ?? '' } });
      if (said.status === 'linked') await queries.invalidateQueries({ queryKey: [getBootstrap.id] });
      return said;
    },
    enabled: code !== null,
    refetchInterval: ({ state }) =>
      state.error || state.data?.status === 'linked'
        ? false
        : (state.data?.interval_seconds ?? code?.interval_seconds ?? 5) * 1_000,
    // Not because somebody looks at the page again: each question counts with the git host.
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  return error;
}
