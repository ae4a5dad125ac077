import { Select, SimpleGrid, Switch, TextInput } from '@mantine/core';
import { appSummaryCharsMax, createApp, deployMethods } from '@svc/contract/apps.ts';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { useLocation } from 'wouter';
import { useTenant } from '../../api/me.ts';
import {
  type AuthMode,
  AuthModeSelect,
  CategorySelect,
  type Tier,
  TierSelect,
} from '../../components/app-fields.tsx';
import { FormCard } from '../../components/form-card.tsx';
import { useForm } from '../../components/use-form.ts';
import { emptyNames, resolveNames } from './app-names.ts';
import { NameFields } from './name-fields.tsx';

type Method = (typeof deployMethods)[number];

const methodTexts: Readonly<Record<Method, string>> = {
  docker: 'Program: code that runs and answers',
  compose: 'Compose: several programs from a compose file',
  static: 'Static: files as they are',
};

const emptyApp = {
  ...emptyNames,
  summary: '',
  deploy_method: 'docker' as Method,
  resource_preset: null as Tier | null,
  auth_mode: 'cookie' as AuthMode,
  category: '',
  hasStorage: false,
};

export function EmptyForm() {
  const tenant = useTenant();
  const [, go] = useLocation();
  const form = useForm(createApp, emptyApp, {
    title: 'Create an app',
    done: 'App created.',
    onDone: ({ slug }) => go(consolePaths.app(tenant.slug, slug)),
    input: ({ hasStorage, ...app }) => ({
      params: { tenantID: tenant.id },
      body: {
        name: app.name.trim() || resolveNames(app).slug,
        slug: app.slug.trim() || undefined,
        subdomain: app.subdomain.trim() || undefined,
        summary: app.summary || undefined,
        resource_preset: app.resource_preset ?? undefined,
        category: app.category || undefined,
        deploy_method: app.deploy_method,
        auth_mode: app.auth_mode,
        storage: hasStorage ? { enabled: true } : undefined,
      },
    }),
  });
  const { field } = form;
  return (
    <FormCard title="An empty app" label="An empty app" form={form} submit="Preview app">
      <NameFields form={form} />
      <TextInput
        {...field('summary')}
        description="One line for the catalogue."
        maxLength={appSummaryCharsMax}
      />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <Select
          {...field('deploy_method')}
          label="Deployed as"
          description="Cannot be changed later."
          data={deployMethods.map((value) => ({ value, label: methodTexts[value] }))}
          allowDeselect={false}
        />
        <TierSelect {...field('resource_preset')} />
        <AuthModeSelect {...field('auth_mode')} />
        <CategorySelect {...form.select('category')} />
      </SimpleGrid>
      <Switch
        {...form.checkbox('hasStorage')}
        label="File storage"
        description="Stores files next to the app's tables. It can also be enabled later."
      />
    </FormCard>
  );
}
