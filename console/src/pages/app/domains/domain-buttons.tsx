import { Group, Stack } from '@mantine/core';
import { removeDomain, verifyDomain } from '@svc/contract/domains.ts';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { client } from '../../../api/client.ts';
import { useChange } from '../../../change/use-change.ts';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { useTell } from '../../../parts/told.tsx';
import { useApp } from '../use-app.ts';
import { whyNotActive } from '../why-not-active.ts';
import type { DomainView } from './domain-view.ts';

export function DomainButtons({ domain }: { domain: DomainView }) {
  const { app, params: ofApp, why } = useApp();
  const queries = useQueryClient();
  const tell = useTell();
  const params = { ...ofApp, domain: domain.id };
  // Only looks: the contract has no preview of it, and nothing that could be lost changes by it.
  const verify = useMutation({
    mutationFn: () => client.call(verifyDomain, { params }),
    onSuccess: async ({ status, host_unicode: name }) => {
      tell(
        status === 'active'
          ? `${name} is active.`
          : `${name} was looked at; below stands what is still missing.`,
      );
      await queries.invalidateQueries();
    },
  });
  const remove = useChange(removeDomain, {
    title: `Remove ${domain.host_unicode}`,
    verb: 'Remove',
    done: `${domain.host_unicode} is removed.`,
  });
  return (
    <Stack gap="xs" align="flex-end">
      <Group gap="sm">
        <MayButton
          variant="default"
          why={why(verifyDomain) ?? whyNotActive(app)}
          loading={verify.isPending}
          onClick={() => verify.mutate()}
        >
          Verify now
        </MayButton>
        <MayButton
          variant="default"
          why={why(removeDomain)}
          loading={remove.isBusy}
          onClick={() => void remove.propose({ params })}
        >
          Remove
        </MayButton>
      </Group>
      {verify.error && <ProblemAlert error={verify.error} />}
      {remove.problem !== null && <ProblemAlert error={remove.problem} />}
    </Stack>
  );
}
