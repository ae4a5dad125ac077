import { Radio, SimpleGrid, Switch, TextInput } from '@mantine/core';
import { listApps, searchCharsMax } from '@svc/contract/app-lists.ts';
import { forkApp, startBootstrap } from '@svc/contract/bootstrap.ts';
import { listTemplates } from '@svc/contract/templates.ts';
import { useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { SearchSelect } from '../../components/app-fields.tsx';
import { FormCard } from '../../components/form-card.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { useUrlValue } from '../../components/url-state.ts';
import { type Form, useForm } from '../../components/use-form.ts';
import { type AppNames, emptyNames, resolveNames } from './app-names.ts';
import { NameFields } from './name-fields.tsx';
import type { StartedRun } from './run-progress.tsx';

interface RepoApp extends AppNames {
  git_host_owner: string;
  repo_private: boolean;
}

const emptyApp: RepoApp = { ...emptyNames, git_host_owner: '', repo_private: true };

function appBody({ name, git_host_owner, repo_private, ...names }: RepoApp) {
  const { slug, subdomain } = resolveNames({ name, ...names });
  return {
    slug,
    name: name.trim() || slug,
    subdomain,
    repo_private,
    git_host_owner: git_host_owner.trim() || undefined,
  };
}

export function TemplateForm({ onStarted }: { onStarted: (run: StartedRun) => void }) {
  const params = { tenantID: useTenant().id };
  const templates = useEndpoint(listTemplates, { params, query: {} });
  const [chosen, setChosen] = useUrlValue('template');
  const first = templates.data?.items[0];
  const template = chosen || (first ? (first.alias ?? first.id) : '');
  const form = useForm(startBootstrap, emptyApp, {
    title: 'Create an app from a template',
    verb: 'Create app',
    done: 'The app is being created.',
    onDone: onStarted,
    input: (app) => ({ params, body: { template, ...appBody(app) } }),
  });
  return (
    <FormCard title="From a template" label="From a template" form={form} submit="Preview app">
      <QueryView answer={templates} lines={3}>
        {({ items }) => (
          <Radio.Group label="Template" value={template} onChange={setChosen} error={form.error('template')}>
            <SimpleGrid cols={{ base: 1, sm: 2 }} mt="xs">
              {items.map(({ id, alias, name, description, framework, built_in: isBuiltIn }) => (
                <Radio
                  key={id}
                  value={alias ?? id}
                  label={isBuiltIn ? name : `${name} (of this tenant)`}
                  description={description || framework}
                />
              ))}
            </SimpleGrid>
          </Radio.Group>
        )}
      </QueryView>
      <RepoAppFields form={form} />
    </FormCard>
  );
}

export function ForkForm({ onStarted }: { onStarted: (run: StartedRun) => void }) {
  const params = { tenantID: useTenant().id };
  const [source, setSource] = useUrlValue('source');
  const form = useForm(forkApp, emptyApp, {
    title: 'Fork an app',
    verb: 'Create fork',
    done: 'The fork is being created.',
    onDone: onStarted,
    input: (app) => ({ params, body: { source, ...appBody(app) } }),
  });
  return (
    <FormCard title="A fork" label="A fork" form={form} submit="Preview app">
      <SearchSelect
        label="Source app"
        description="You need read access to its code as well."
        placeholder="Name of an app"
        value={source}
        onChange={setSource}
        useOptions={useSourceOptions}
        maxLength={searchCharsMax}
        nothingFoundMessage="No visible app with this name"
        error={form.error('source')}
        required
      />
      <RepoAppFields form={form} />
    </FormCard>
  );
}

function RepoAppFields({ form }: { form: Form<RepoApp> }) {
  return (
    <>
      <NameFields form={form} />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput
          {...form.field('git_host_owner')}
          label="Repository owner"
          description="An account at the git host; empty for your own."
          classNames={{ input: 'mono' }}
        />
        <Switch
          {...form.checkbox('repo_private')}
          label="Private repository"
          description="Only people with access at the git host can read the code."
          mt={{ base: 0, sm: 26 }}
        />
      </SimpleGrid>
    </>
  );
}

const appsMax = 50;

function useSourceOptions(q: string | undefined) {
  const params = { tenantID: useTenant().id };
  const apps = useEndpoint(listApps, { params, query: { per_page: appsMax, q } }).data?.items ?? [];
  return apps.map(({ slug, name }) => ({ value: slug, label: name }));
}
