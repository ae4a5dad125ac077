import { forkApp } from '@svc/contract/bootstrap.ts';
import { useState } from 'react';
import { useTenant } from '../../api/me.ts';
import { useChange } from '../../change/use-change.ts';
import { useSearchValue } from '../../parts/use-search-value.ts';
import { type AppNames, namesOf, noNames } from './app-names.ts';
import { NameFields } from './name-fields.tsx';
import { RepoFields, repoBody, usualRepo } from './repo-fields.tsx';
import { SourceSelect } from './source-select.tsx';
import type { StartedRun } from './started-run.ts';
import { WayForm } from './way-form.tsx';

/** `?source=` names the app that it is made from. */
export function ForkForm({ started }: { started: (run: StartedRun) => void }) {
  const tenant = useTenant();
  const [source, setSource] = useSearchValue('source');
  const [names, setNames] = useState(noNames);
  const [repo, setRepo] = useState(usualRepo);
  const change = useChange(forkApp, {
    title: 'Fork an app',
    verb: 'Make the fork',
    done: 'The fork is being made.',
    onDone: started,
  });
  const submit = () => {
    const { slug, subdomain } = namesOf(names);
    void change.propose({
      params: { tenantID: tenant.id },
      body: { source, slug, name: names.name.trim() || slug, subdomain, ...repoBody(repo) },
    });
  };
  return (
    <WayForm title="A fork" change={change} submit={submit}>
      <SourceSelect value={source} onChange={setSource} error={change.errorOf('source')} />
      <NameFields
        names={names}
        set={(part: Partial<AppNames>) => setNames((old) => ({ ...old, ...part }))}
        errorOf={change.errorOf}
      />
      <RepoFields repo={repo} set={setRepo} errorOf={change.errorOf} />
    </WayForm>
  );
}
