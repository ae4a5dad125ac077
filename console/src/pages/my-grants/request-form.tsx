import { NumberInput, Select, TagsInput, Textarea } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { listRequestOptions, requestGrant } from '@svc/contract/grant-requests.ts';
import { reasonCharsMax, scopeEntriesMax } from '@svc/contract/grants.ts';
import { useLocation, useSearchParams } from 'wouter';
import { useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { FormCard } from '../../components/form-card.tsx';
import { PageHead } from '../../components/page-layout.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { useForm } from '../../components/use-form.ts';
import { hoursText } from './rules.ts';

export default function RequestAccessPage() {
  const answer = useEndpoint(listRequestOptions, { params: { tenantID: useTenant().id } });
  return (
    <>
      <PageHead title="Request access" lead="An owner of the connector or a tenant admin decides." />
      <QueryView answer={answer}>{(options) => <RequestForm options={options} />}</QueryView>
    </>
  );
}

type Options = Answer<NonNullable<typeof listRequestOptions.shape>>;

const hoursDefault = 8;

/** Links fill the form: `?connector=<slug or id>&preset=<name or id>&scope=<path>,<path>&reason=<text>`. */
function RequestForm({ options: { connectors, presets } }: { options: Options }) {
  const tenant = useTenant();
  const [search] = useSearchParams();
  const [, go] = useLocation();
  const parameter = (name: string) => search.get(name) ?? '';
  const record = {
    connector: connectors.find(({ id, slug }) => [id, slug].includes(parameter('connector')))?.id ?? '',
    preset: presets.find(({ id, name }) => [id, name].includes(parameter('preset')))?.id ?? 'reader',
    scope: parameter('scope').split(',').filter(Boolean),
    hours: hoursDefault,
    reason: parameter('reason'),
  };
  const form = useForm(requestGrant, record, {
    title: 'Request access',
    done: 'Request sent.',
    errors: ({ connector, reason }) => ({
      connector: connector === '' && 'Choose a connector.',
      reason: reason.trim() === '' && 'Say what you need it for.',
    }),
    input: ({ connector, preset, scope, hours, reason }) => ({
      params: { tenantID: tenant.id },
      body: {
        connector_id: connector,
        preset_id: preset,
        scope_resource_paths: scope,
        duration_seconds: Math.round(hours * 3600),
        reason,
      },
    }),
    onDone: ({ id }) => go(consolePaths.grantRequest(tenant.slug, id)),
  });
  const connector = connectors.find(({ id }) => id === form.values.connector);
  const secondsMax = connector?.max_duration_seconds ?? 0;
  const { value: hours, onChange: setHours, ...hoursField } = form.field('hours');
  return (
    <FormCard title="Access" form={form} submit="Request access" cancel={consolePaths.grants(tenant.slug)}>
      <Select
        {...form.select('connector')}
        data={connectors.map(({ id, name }) => ({ value: id, label: name }))}
        description={connector?.description}
        searchable
        allowDeselect={false}
        required
        maw={460}
      />
      <Select
        {...form.select('preset')}
        data={presets.map(({ id, name, actions }) => ({
          value: id,
          label: `${name} (${actions.join(', ')})`,
        }))}
        allowDeselect={false}
        required
        maw={460}
      />
      <TagsInput
        {...form.field('scope')}
        description="schema or schema/table; empty for the whole connector. The smallest scope is approved most easily."
        placeholder={form.values.scope.length === 0 ? 'sales/orders' : undefined}
        splitChars={[',', ' ']}
        maxTags={scopeEntriesMax}
        maw={460}
      />
      <NumberInput
        {...hoursField}
        value={hours}
        onChange={(value) => setHours(Number(value))}
        label="Hours"
        description={
          secondsMax > 0
            ? `At most ${hoursText(secondsMax)}${connector?.auto_approve ? '; approved at once' : ''}. Counts from the approval.`
            : 'Counts from the approval.'
        }
        error={form.error('duration_seconds')}
        min={0.25}
        max={8760}
        required
        maw={200}
      />
      <Textarea
        {...form.field('reason')}
        maxLength={reasonCharsMax}
        autosize
        minRows={2}
        required
        maw={460}
      />
    </FormCard>
  );
}
