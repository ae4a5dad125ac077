import { Select, SimpleGrid, Switch, TextInput } from '@mantine/core';
import { appSummaryCharsMax, createApp, deployMethods } from '@svc/contract/apps.ts';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { useTenant } from '../../api/me.ts';
import { useChange } from '../../change/use-change.ts';
import { type AuthMode, AuthModeSelect } from '../../parts/auth-mode-select.tsx';
import { CategorySelect } from '../../parts/category-select.tsx';
import { type Tier, TierSelect } from '../../parts/tier-select.tsx';
import { namesOf, noNames } from './app-names.ts';
import { NameFields } from './name-fields.tsx';
import { WayForm } from './way-form.tsx';

type Method = (typeof deployMethods)[number];

const methodTexts: Readonly<Record<Method, string>> = {
  docker: 'Program: code that runs and answers',
  compose: 'Compose: several programs by a compose file',
  static: 'Static: files as they are',
};

const usual = {
  ...noNames,
  summary: '',
  method: 'docker' as Method,
  tier: null as Tier | null,
  auth: 'cookie' as AuthMode,
  category: '',
  hasStorage: false,
};

export function EmptyForm() {
  const tenant = useTenant();
  const [, go] = useLocation();
  const [draft, setDraft] = useState(usual);
  const set = (part: Partial<typeof usual>) => setDraft((old) => ({ ...old, ...part }));
  const change = useChange(createApp, {
    title: 'Create an app',
    verb: 'Create',
    done: 'The app is created.',
    onDone: ({ slug }) => go(consolePaths.app(tenant.slug, slug)),
  });
  const submit = () => {
    const { name, summary, method, tier, auth, category, hasStorage } = draft;
    void change.propose({
      params: { tenantID: tenant.id },
      body: {
        name: name.trim() || namesOf(draft).slug,
        ...(draft.slug.trim() === '' ? {} : { slug: draft.slug.trim() }),
        ...(draft.subdomain.trim() === '' ? {} : { subdomain: draft.subdomain.trim() }),
        ...(summary === '' ? {} : { summary }),
        ...(tier === null ? {} : { resource_preset: tier }),
        ...(category === '' ? {} : { category }),
        deploy_method: method,
        auth_mode: auth,
        ...(hasStorage ? { storage: { enabled: true } } : {}),
      },
    });
  };
  return (
    <WayForm title="An empty app" change={change} submit={submit}>
      <NameFields names={draft} set={set} errorOf={change.errorOf} />
      <TextInput
        label="Summary"
        description="One line for the catalogue."
        value={draft.summary}
        onChange={(event) => set({ summary: event.currentTarget.value })}
        maxLength={appSummaryCharsMax}
        error={change.errorOf('summary')}
      />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <Select
          label="Deployed as"
          description="Can not be changed later."
          data={deployMethods.map((value) => ({ value, label: methodTexts[value] }))}
          value={draft.method}
          onChange={(value) => set({ method: deployMethods.find((one) => one === value) ?? 'docker' })}
          allowDeselect={false}
          error={change.errorOf('deploy_method')}
        />
        <TierSelect
          value={draft.tier}
          onChange={(tier) => set({ tier })}
          error={change.errorOf('resource_preset')}
        />
        <AuthModeSelect
          value={draft.auth}
          onChange={(auth) => set({ auth })}
          error={change.errorOf('auth_mode')}
        />
        <CategorySelect
          value={draft.category}
          onChange={(category) => set({ category })}
          error={change.errorOf('category')}
        />
      </SimpleGrid>
      <Switch
        label="File storage"
        description="Objects of its own, beside its tables. It can be enabled later as well."
        checked={draft.hasStorage}
        onChange={(event) => set({ hasStorage: event.currentTarget.checked })}
      />
    </WayForm>
  );
}
