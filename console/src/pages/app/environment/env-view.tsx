import { Alert, Group, Stack, Text, Title } from '@mantine/core';
import { changeEnv, listEnv } from '@svc/contract/deployments.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { IconInfoCircle } from '@tabler/icons-react';
import { useState } from 'react';
import { useAnswer } from '../../../api/use-answer.ts';
import { useChange } from '../../../change/use-change.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { Empty } from '../../../parts/empty.tsx';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { useApp } from '../use-app.ts';
import { whyNotActive } from '../why-not-active.ts';
import { draftObstacle, noDraft, toggledRemoval, wishOf, withRow } from './env-draft.ts';
import { EnvEditor } from './env-editor.tsx';
import { EnvTable } from './env-table.tsx';
import { GivenEnv } from './given-env.tsx';
import { Redeploy } from './redeploy.tsx';

export function EnvView() {
  const { app, params, why } = useApp();
  const answer = useAnswer(listEnv, { params, query: { per_page: perPageMax } });
  const [draft, setDraft] = useState(noDraft);
  const [isChanged, setChanged] = useState(false);
  const change = useChange(changeEnv, {
    title: 'Change the environment',
    verb: 'Change it',
    done: 'The variables are changed; the next deployment runs with them.',
    onDone: () => {
      setDraft(noDraft);
      setChanged(true);
    },
  });
  const namesBy = (by: 'manifest' | 'platform') =>
    answer.data?.items.flatMap(({ name, given_by }) => (given_by === by ? [name] : [])) ?? [];
  const cannot = why(changeEnv) ?? whyNotActive(app);
  return (
    <Stack gap="md">
      <Stack gap={4}>
        <Title order={2} size="h4">
          Environment
        </Title>
        <Text size="sm" c="dimmed">
          Variables that the app is built and runs with. Values are kept sealed and shown nowhere. A change
          counts from the next deployment on; what runs goes on with what it has.
        </Text>
      </Stack>
      {isChanged && (
        <Alert
          color="blue"
          icon={<IconInfoCircle aria-hidden />}
          title={
            app.runtime === 'running'
              ? 'The app still runs with the old ones'
              : 'They count from the next deployment on'
          }
        >
          <Redeploy />
        </Alert>
      )}
      <AnswerView answer={answer}>
        {({ items }) => {
          const own = items.filter(({ given_by }) => given_by === 'app');
          if (own.length === 0)
            return (
              <Empty title="No variables" command={`svc env set GREETING=hello --app ${app.slug} --execute`}>
                Keys of other services, addresses, switches: what differs from place to place and does not
                belong into the code.
              </Empty>
            );
          return (
            <EnvTable
              items={own}
              draft={draft}
              cannot={cannot}
              change={(name) => setDraft(withRow(draft, { name, value: '' }))}
              remove={(name) => setDraft(toggledRemoval(draft, name))}
            />
          );
        }}
      </AnswerView>
      <EnvEditor draft={draft} setDraft={setDraft} cannot={cannot} />
      {change.problem !== null && <ProblemAlert error={change.problem} />}
      <Group>
        <MayButton
          why={cannot ?? draftObstacle(draft)}
          loading={change.isBusy}
          onClick={() => void change.propose({ params, body: wishOf(draft) })}
        >
          Review the changes
        </MayButton>
        <MayButton
          variant="default"
          why={draft === noDraft ? 'Nothing is changed yet.' : null}
          onClick={() => {
            setDraft(noDraft);
            change.clear();
          }}
        >
          Discard
        </MayButton>
      </Group>
      <GivenEnv
        title="From svc.yaml"
        names={namesBy('manifest')}
        note="What is live brought these along. What you set goes before them."
      />
      <GivenEnv
        title="Given by the platform"
        names={namesBy('platform')}
        note="The app finds these as well. Where one of them may be set, what you set goes before it."
      />
    </Stack>
  );
}
