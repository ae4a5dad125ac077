import { Alert, Badge, Code, Group, SegmentedControl, Stack, Text } from '@mantine/core';
import { changeEnv, envEnvironments, listEnv } from '@svc/contract/deployments.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { IconInfoCircle } from '@tabler/icons-react';
import { useState } from 'react';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { useChange } from '../../../change/use-change.ts';
import { ActionButton, ChangeButton } from '../../../components/buttons.tsx';
import { DataTable } from '../../../components/data-table.tsx';
import { TimeText } from '../../../components/display.tsx';
import { EmptyState } from '../../../components/page-layout.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { QueryView } from '../../../components/query-view.tsx';
import { Heading, Hint, SubHeading } from '../../../components/text.tsx';
import { useUrlChoice } from '../../../components/url-state.ts';
import { Redeploy } from '../deployments/deploy-buttons.tsx';
import { whyNotActive } from '../rules.ts';
import { restrictedTab, useApp, usePersonNames } from '../use-app.tsx';
import { addRow, type EnvDraft, emptyDraft, envChanges, toggleRemoval, whyNotSave } from './env-draft.ts';
import { EnvEditor } from './env-editor.tsx';

export default restrictedTab(listEnv, 'the environment', EnvView);

type Environment = (typeof envEnvironments)[number];

const environmentTexts: Record<Environment, { label: string; hint: string; command: string }> = {
  production: {
    label: 'Production',
    hint: 'Variables for building and running the app.',
    command: '',
  },
  preview: {
    label: 'Previews',
    hint: 'Variables for building and running the previews of branches. They get none of the production variables.',
    command: ' --environment preview',
  },
};

function EnvView() {
  const [environment, setEnvironment] = useUrlChoice<Environment>(
    'environment',
    'production',
    envEnvironments,
  );
  return (
    <Stack gap="md">
      <Stack gap={4}>
        <Heading>Environment</Heading>
        <Hint>
          {environmentTexts[environment].hint} Values are stored encrypted and never shown. Changes apply from
          the next deployment.
        </Hint>
      </Stack>
      <SegmentedControl
        aria-label="Environment"
        value={environment}
        onChange={(next) => setEnvironment(next as Environment)}
        data={envEnvironments.map((value) => ({ value, label: environmentTexts[value].label }))}
        style={{ alignSelf: 'flex-start' }}
      />
      <EnvVariables key={environment} environment={environment} />
    </Stack>
  );
}

function EnvVariables({ environment }: { environment: Environment }) {
  const { app, params, why } = useApp();
  const answer = useEndpoint(listEnv, { params, query: { per_page: perPageMax, environment } });
  const [draft, setDraft] = useState(emptyDraft);
  const [isChanged, setChanged] = useState(false);
  const change = useChange(changeEnv, {
    title: 'Update the environment',
    done: 'Variables updated. They apply from the next deployment.',
    onDone: () => {
      setDraft(emptyDraft);
      setChanged(true);
    },
  });
  const namesBy = (by: 'manifest' | 'platform') =>
    answer.data?.items.flatMap(({ name, given_by }) => (given_by === by ? [name] : [])) ?? [];
  const cannot = why(changeEnv) ?? whyNotActive(app);
  return (
    <Stack gap="md">
      {isChanged && environment === 'production' && (
        <Alert
          color="blue"
          icon={<IconInfoCircle aria-hidden />}
          title={
            app.runtime === 'running'
              ? 'The app still runs with the old values'
              : 'The changes apply from the next deployment'
          }
        >
          <Redeploy />
        </Alert>
      )}
      <QueryView answer={answer}>
        {({ items }) => {
          const own = items.filter(({ given_by }) => given_by === 'app');
          if (own.length === 0)
            return (
              <EmptyState
                title="No variables"
                command={`svc env set GREETING=hello --app ${app.slug}${environmentTexts[environment].command} --execute`}
              >
                API keys, URLs and flags: settings that differ between environments and do not belong in the
                code.
              </EmptyState>
            );
          return (
            <EnvTable
              items={own}
              draft={draft}
              cannot={cannot}
              change={(name) => setDraft(addRow(draft, { name, value: '' }))}
              remove={(name) => setDraft(toggleRemoval(draft, name))}
            />
          );
        }}
      </QueryView>
      <EnvEditor draft={draft} setDraft={setDraft} cannot={cannot} />
      <ProblemAlert error={change.problem} />
      <Group>
        <ChangeButton
          variant="filled"
          why={cannot ?? whyNotSave(draft)}
          change={change}
          input={{ params, body: { ...envChanges(draft), environment } }}
        >
          Review changes
        </ChangeButton>
        <ActionButton
          why={draft === emptyDraft ? 'Nothing has changed yet.' : null}
          onClick={() => {
            setDraft(emptyDraft);
            change.clear();
          }}
        >
          Discard
        </ActionButton>
      </Group>
      <ExternalVariables
        title="From svc.yaml"
        names={namesBy('manifest')}
        note="Set by the live deployment. Your variables take precedence."
      />
      <ExternalVariables
        title="Set by the platform"
        names={namesBy('platform')}
        note="Always available to the app. Your variables take precedence where they may be set."
      />
    </Stack>
  );
}

type EnvVariable = Answer<NonNullable<typeof listEnv.shape>>['items'][number];

function EnvTable({
  items,
  draft,
  cannot,
  change,
  remove,
}: {
  items: readonly EnvVariable[];
  draft: EnvDraft;
  cannot: string | null;
  change: (name: string) => void;
  remove: (name: string) => void;
}) {
  const nameOf = usePersonNames();
  const isRemoved = (name: string) => draft.removed.includes(name);
  const isTyped = (name: string) => draft.rows.some((row) => row.name === name);
  return (
    <DataTable
      label="Variables"
      minWidth={440}
      verticalSpacing="xs"
      rows={items}
      keyOf={({ name }) => name}
      columns={[
        {
          head: 'Name',
          cell: ({ name }) => (
            <Group gap="xs">
              <Text span className="mono" td={isRemoved(name) ? 'line-through' : undefined}>
                {name}
              </Text>
              {isRemoved(name) && (
                <Badge color="red" variant="light" tt="none">
                  will be removed
                </Badge>
              )}
              {isTyped(name) && (
                <Badge color="blue" variant="light" tt="none">
                  will change
                </Badge>
              )}
            </Group>
          ),
        },
        { head: 'Changed', cell: (variable) => <TimeText value={variable.updated_at} /> },
        { head: 'By', cell: (variable) => nameOf(variable.updated_by) ?? 'unknown' },
        {
          head: 'Actions',
          cell: ({ name }) => (
            <Group gap="xs" wrap="nowrap">
              <ActionButton
                size="compact-sm"
                why={cannot ?? (isTyped(name) ? 'Enter the new value below.' : null)}
                onClick={() => change(name)}
                aria-label={`Change ${name}`}
              >
                Change
              </ActionButton>
              <ActionButton
                size="compact-sm"
                why={cannot}
                onClick={() => remove(name)}
                aria-label={isRemoved(name) ? `Keep ${name}` : `Remove ${name}`}
              >
                {isRemoved(name) ? 'Keep' : 'Remove'}
              </ActionButton>
            </Group>
          ),
        },
      ]}
    />
  );
}

function ExternalVariables({
  title,
  names,
  note,
}: {
  title: string;
  names: readonly string[];
  note: string;
}) {
  if (names.length === 0) return null;
  return (
    <Stack gap="xs">
      <SubHeading>{title}</SubHeading>
      <Group gap="xs">
        {names.map((name) => (
          <Code key={name}>{name}</Code>
        ))}
      </Group>
      <Hint>{note}</Hint>
    </Stack>
  );
}
