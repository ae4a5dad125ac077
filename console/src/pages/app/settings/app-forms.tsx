import { SimpleGrid, Stack, TagsInput, Textarea, TextInput } from '@mantine/core';
import {
  appDescriptionCharsMax,
  appNameCharsMax,
  appSummaryCharsMax,
  costCenterCharsMax,
  dataScopeCharsMax,
  dataScopesMax,
  updateApp,
} from '@svc/contract/apps.ts';
import type { ComponentProps, ReactNode } from 'react';
import { AuthModeSelect, CategorySelect, TierSelect } from '../../../components/app-fields.tsx';
import { descriptionBelow, FormElement, FormEnd, SubmitButton } from '../../../components/form-card.tsx';
import { Section } from '../../../components/page-layout.tsx';
import { changedFields, useForm } from '../../../components/use-form.ts';
import { waitingScopes, whyNotActive } from '../rules.ts';
import { type AppView, useApp } from '../use-app.tsx';

export function AboutForm() {
  const { app } = useApp();
  const form = useAppForm('Update the app', {
    name: app.name,
    summary: app.summary,
    description: app.description,
    category_id: app.category_id ?? '',
    cost_center: app.cost_center ?? '',
  });
  const { field } = form;
  return (
    <AppForm
      title="About"
      lead="Shown in the catalogue and on the app's page."
      form={form}
      submit="Save details"
    >
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput {...field('name')} maxLength={appNameCharsMax} required />
        <TextInput
          {...field('summary')}
          description={`One line, at most ${appSummaryCharsMax} characters.`}
          inputWrapperOrder={descriptionBelow}
          maxLength={appSummaryCharsMax}
        />
      </SimpleGrid>
      <Textarea {...field('description')} maxLength={appDescriptionCharsMax} minRows={3} maxRows={14} />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <CategorySelect {...form.select('category_id')} />
        <TextInput
          {...field('cost_center')}
          label="Cost centre"
          description="Label for accounting; may be empty."
          maxLength={costCenterCharsMax}
        />
      </SimpleGrid>
    </AppForm>
  );
}

export function RunningForm() {
  const { app } = useApp();
  const form = useAppForm('Update how the app runs', {
    subdomain: app.subdomain ?? '',
    auth_mode: app.auth_mode,
    data_scopes: app.data_scopes,
    resource_preset: app.resource_preset,
  });
  const { field } = form;
  return (
    <AppForm
      title="URL and runtime"
      lead={`Deploy method: ${app.deploy_method}. It cannot be changed.`}
      form={form}
      submit="Save runtime"
    >
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput
          {...field('subdomain')}
          description={app.url === null ? 'Empty: the app has no host of its own.' : `Now at ${app.url}`}
          classNames={{ input: 'mono' }}
        />
        <TierSelect {...field('resource_preset')} />
        <AuthModeSelect {...field('auth_mode')} />
        <TagsInput
          {...field('data_scopes')}
          description={scopesHint(app)}
          maxTags={dataScopesMax}
          maxLength={dataScopeCharsMax}
        />
      </SimpleGrid>
    </AppForm>
  );
}

function AppForm({
  title,
  lead,
  form,
  submit,
  children,
}: {
  title: string;
  lead: string;
  form: ComponentProps<typeof FormEnd>['form'];
  submit: string;
  children: ReactNode;
}) {
  return (
    <Section title={title} lead={lead}>
      <FormElement form={form} aria-label={title}>
        <Stack>
          {children}
          <FormEnd form={form}>
            <SubmitButton form={form}>{submit}</SubmitButton>
          </FormEnd>
        </Stack>
      </FormElement>
    </Section>
  );
}

const nullable = ['category_id', 'cost_center', 'subdomain'];

function useAppForm<T extends object>(title: string, saved: T) {
  const { params } = useApp();
  const whyNotUpdate = useWhyNotUpdate();
  return useForm(updateApp, saved, {
    title,
    verb: 'Save',
    done: 'Saved.',
    disabled: whyNotUpdate !== null,
    whyNot: (values) =>
      whyNotUpdate ??
      (Object.keys(changedFields(saved, values)).length > 0 ? null : 'Nothing has changed yet.'),
    input: (values) => ({
      params,
      body: Object.fromEntries(
        Object.entries(changedFields(saved, values)).map(([name, value]) =>
          nullable.includes(name) ? [name, String(value).trim() || null] : [name, value],
        ),
      ),
    }),
  });
}

export function useWhyNotUpdate(): string | null {
  const { app, why } = useApp();
  return whyNotActive(app) ?? why(updateApp);
}

function scopesHint(app: Pick<AppView, 'data_scopes' | 'approved_data_scopes'>): string {
  const waiting = waitingScopes(app);
  return waiting.length > 0
    ? `Only owners can use these until a review approves them: ${waiting.join(', ')}.`
    : 'What the app may do with data of connectors for its visitors, such as warehouse/sales/orders:read. Enter adds one.';
}
