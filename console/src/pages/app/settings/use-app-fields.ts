import { updateApp } from '@svc/contract/apps.ts';
import type { Input } from '@svc/contract/endpoint.ts';
import { useChange } from '../../../change/use-change.ts';
import { useDraft } from '../../../parts/use-draft.ts';
import { useApp } from '../use-app.ts';
import { changedFields } from './changed-fields.ts';
import { useWhyNoUpdate } from './use-why-no-update.ts';

type AppChanges = NonNullable<Input<NonNullable<typeof updateApp.shape>>['body']>;

/** Some fields of the app as they are typed. Only those that are changed are sent. */
export function useAppFields<T extends AppChanges>(saved: T, title: string) {
  const { params } = useApp();
  const noUpdate = useWhyNoUpdate();
  const { shown: draft, set, drop, below } = useDraft(saved);
  const change = useChange(updateApp, { title, verb: 'Save', done: 'Saved.', onDone: drop });
  const body = changedFields(saved, draft);
  const isChanged = Object.keys(body).length > 0;
  return {
    draft,
    set,
    below,
    change,
    disabled: noUpdate !== null,
    whyNotSave: noUpdate ?? (isChanged ? null : 'Nothing is changed yet.'),
    save: () => {
      if (isChanged) void change.propose({ params, body });
    },
  };
}
