import { Group, NumberInput, Stack } from '@mantine/core';
import { listInstances, scaleApp } from '@svc/contract/deployments.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { instancesMax } from '@svc/contract/manifest.ts';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { DataTable } from '../../../components/data-table.tsx';
import { StateBadge, TimeText } from '../../../components/display.tsx';
import { FormElement, SubmitButton } from '../../../components/form-card.tsx';
import { formatBytes } from '../../../components/format.ts';
import { BoldLink } from '../../../components/page-layout.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { QueryView } from '../../../components/query-view.tsx';
import { Heading, Hint } from '../../../components/text.tsx';
import { useForm } from '../../../components/use-form.ts';
import { useApp } from '../use-app.tsx';
import { whyNotDeploy } from './deployment.ts';

type Instances = Answer<NonNullable<typeof listInstances.shape>>;
type Process = Instances['processes'][number];

/** Nothing for sites and for apps without a deployment. */
export function ProcessList() {
  const { params } = useApp();
  const answer = useEndpoint(
    listInstances,
    { params, query: { per_page: 200 } },
    { refetchMs: (last) => (last && isStable(last) ? 10_000 : 2_000) },
  );
  if (answer.data && answer.data.processes.length === 0) return null;
  return (
    <Stack gap="sm">
      <Heading>Processes</Heading>
      <QueryView answer={answer} lines={3}>
        {({ processes, items }) => (
          <Stack gap="lg">
            {processes.map((process) => (
              <ProcessPart
                key={process.process}
                process={process}
                instances={items.filter((each) => each.process === process.process)}
              />
            ))}
          </Stack>
        )}
      </QueryView>
    </Stack>
  );
}

function isStable({ processes, items }: Instances): boolean {
  const requested = processes.reduce((sum, { instances }) => sum + instances, 0);
  return items.length === requested && items.every(({ state }) => state === 'ready' || state === 'asleep');
}

const sourceTexts: Record<Process['set_by'], string> = {
  default: 'by default',
  manifest: 'set in svc.yaml',
  scale: 'set here or with svc apps scale',
};

function ProcessPart({ process, instances }: { process: Process; instances: Instances['items'] }) {
  const { paths } = useApp();
  return (
    <Stack gap="xs" component="section" aria-label={`Process ${process.process}`}>
      <Group justify="space-between" align="flex-end">
        <Stack gap={0}>
          <Heading order={3} className="mono">
            {process.process}
          </Heading>
          <Hint>
            {process.instances} {process.instances === 1 ? 'instance' : 'instances'},{' '}
            {sourceTexts[process.set_by]}
          </Hint>
        </Stack>
        <ScaleForm process={process} />
      </Group>
      {instances.length > 0 && (
        <DataTable
          label={`Instances of ${process.process}`}
          minWidth={520}
          rows={instances}
          keyOf={({ id, index }) => id ?? String(index)}
          columns={[
            { head: 'Instance', cell: ({ index }) => index },
            { head: 'State', cell: ({ state }) => <StateBadge state={state} /> },
            { head: 'Since', cell: ({ since }) => <TimeText value={since} /> },
            {
              head: 'Memory',
              cell: ({ memory_bytes: bytes }) => (bytes === null ? '–' : formatBytes(bytes)),
            },
            { head: 'Restarts', cell: ({ restarts }) => restarts },
            {
              head: 'Deployment',
              cell: (each) => (
                <BoldLink to={paths.deployment(each.deployment_id)}>#{each.deployment_seq}</BoldLink>
              ),
            },
          ]}
        />
      )}
    </Stack>
  );
}

function ScaleForm({ process: { process, instances } }: { process: Process }) {
  const { app, params, why } = useApp();
  const form = useForm(
    scaleApp,
    { instances },
    {
      title: `Scale ${process} of ${app.name}`,
      verb: 'Scale',
      done: 'Scaled.',
      whyNot: () => why(scaleApp) ?? whyNotDeploy(app),
      input: (values) => ({ params, body: { instances: { [process]: values.instances } } }),
    },
  );
  return (
    <FormElement form={form}>
      <Stack gap="xs">
        <Group align="flex-end" gap="sm">
          <NumberInput
            {...form.field('instances')}
            label={`Instances of ${process}`}
            min={process === 'web' ? 1 : 0}
            max={instancesMax}
            clampBehavior="strict"
            allowDecimal={false}
            w={140}
          />
          <SubmitButton form={form} variant="default">
            Scale
          </SubmitButton>
        </Group>
        <ProblemAlert error={form.problem} />
      </Stack>
    </FormElement>
  );
}
