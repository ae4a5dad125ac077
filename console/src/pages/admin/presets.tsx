import { Group, Textarea, TextInput } from '@mantine/core';
import { createPreset, deletePreset, getPreset, listPresets, updatePreset } from '@svc/contract/presets.ts';
import { useLocation } from 'wouter';
import { useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { useChange } from '../../change/use-change.ts';
import { RowButton } from '../../components/buttons.tsx';
import { NameCell } from '../../components/data-table.tsx';
import { ActionBadges } from '../../components/display.tsx';
import { ProblemAlert } from '../../components/problem-alert.tsx';
import { usePage } from '../../components/url-state.ts';
import type { Form } from '../../components/use-form.ts';
import { ActionsField } from './fields.tsx';
import { AdminItem, AdminList, AdminRoutes, adminPath, FormPage, useAdminForm } from './form-page.tsx';

export default function PresetsTab() {
  return <AdminRoutes list={PresetList} create={NewPreset} item={PresetPage} />;
}

function NewPreset() {
  const tenant = useTenant();
  const form = useAdminForm(createPreset, 'presets', emptyPreset, {
    title: 'Create a preset',
    done: 'Preset created.',
    input: (body) => ({ params: { tenantID: tenant.id }, body }),
  });
  return <PresetForm title="New preset" form={form} />;
}

function PresetPage({ id }: { id: string }) {
  const tenant = useTenant();
  const answer = useEndpoint(getPreset, { params: { tenantID: tenant.id, presetID: id } });
  return (
    <AdminItem
      tab="presets"
      what={answer.data ? 'editable preset' : 'preset'}
      answer={answer}
      isHidden={answer.data?.built_in}
    >
      {(preset) => <EditPreset preset={preset} />}
    </AdminItem>
  );
}

function EditPreset({ preset }: { preset: PresetDraft & { id: string } }) {
  const tenant = useTenant();
  const { id, name, actions, description } = preset;
  const record = { name, actions, description };
  const form = useAdminForm(updatePreset, 'presets', record, {
    title: 'Update a preset',
    verb: 'Save',
    done: 'Preset saved. Grants that use it have changed with it.',
    input: (body) => ({ params: { tenantID: tenant.id, presetID: id }, body }),
  });
  return <PresetForm title={name} form={form} />;
}

const builtIn =
  'Built-in presets are the same in every tenant. Create your own preset for another set of actions.';

function PresetList() {
  const tenant = useTenant();
  const [, go] = useLocation();
  const params = { tenantID: tenant.id };
  const answer = useEndpoint(listPresets, { params, query: { page: usePage() } });
  const remove = useChange(deletePreset, { title: 'Delete a preset', done: 'Preset deleted.' });
  const edit = (id: string) => go(adminPath(tenant.slug, 'presets', id));
  return (
    <AdminList
      tab="presets"
      noun="preset"
      answer={answer}
      problem={<ProblemAlert error={remove.problem} />}
      label="Presets"
      minWidth={620}
      columns={[
        {
          head: 'Preset',
          cell: ({ name, description }) => <NameCell name={name} description={description} />,
        },
        {
          head: 'Allows',
          cell: ({ actions }) => (
            <Group gap={4}>
              <ActionBadges actions={actions} />
            </Group>
          ),
        },
        { head: 'Origin', cell: (preset) => (preset.built_in ? 'built in' : 'this tenant') },
        {
          head: 'Actions',
          cell: (preset) => {
            const row = { name: `preset ${preset.name}`, why: preset.built_in ? builtIn : null };
            const input = { params: { ...params, presetID: preset.id } };
            return (
              <Group gap="xs" wrap="nowrap">
                <RowButton verb="Edit" {...row} onClick={() => edit(preset.id)} />
                <RowButton verb="Delete" {...row} onClick={() => void remove.propose(input)} />
              </Group>
            );
          },
        },
      ]}
    />
  );
}

interface PresetDraft {
  name: string;
  actions: string[];
  description: string;
}
const emptyPreset: PresetDraft = { name: '', actions: ['read'], description: '' };

function PresetForm({ title, form }: { title: string; form: Form<PresetDraft> }) {
  const { field } = form;
  return (
    <FormPage tab="presets" title={title} submit="Save preset" form={form}>
      <TextInput
        {...field('name')}
        description="Lower-case letters, digits and -, starting with a letter."
        required
        classNames={{ input: 'mono' }}
      />
      <ActionsField
        {...field('actions')}
        description="What a grant with this preset allows. Enter or a comma ends each."
      />
      <Textarea {...field('description')} maxLength={1000} />
    </FormPage>
  );
}
