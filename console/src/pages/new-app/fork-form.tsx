import { forkApp } from '@svc/contract/bootstrap.ts';
import { useTenant } from '../../api/me.ts';
import { useChange } from '../../change/use-change.ts';
import { useSearchValue } from '../../parts/use-search-value.ts';
import { NamesAndRepo, useNamesAndRepo } from './names-and-repo.tsx';
import { SourceSelect } from './source-select.tsx';
import type { StartedRun } from './started-run.ts';
import { WayForm } from './way-form.tsx';

/** `?source=` names the app that it is made from. */
export function ForkForm({ started }: { started: (run: StartedRun) => void }) {
  const tenant = useTenant();
  const [source, setSource] = useSearchValue('source');
  const typed = useNamesAndRepo();
  const change = useChange(forkApp, {
    title: 'Fork an app',
    verb: 'Make the fork',
    done: 'The fork is being made.',
    onDone: started,
  });
  const submit = () =>
    void change.propose({ params: { tenantID: tenant.id }, body: { source, ...typed.body } });
  return (
    <WayForm title="A fork" change={change} submit={submit}>
      <SourceSelect value={source} onChange={setSource} error={change.errorOf('source')} />
      <NamesAndRepo typed={typed} errorOf={change.errorOf} />
    </WayForm>
  );
}
