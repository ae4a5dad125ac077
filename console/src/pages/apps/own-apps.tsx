import { listMyApps } from '@svc/contract/app-lists.ts';
import type { ReactNode } from 'react';
import { useTenant } from '../../api/me.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { AnswerView } from '../../parts/answer-view.tsx';
import { Empty } from '../../parts/empty.tsx';
import { AppList } from './app-list.tsx';

/** The apps one owns, looks after with others, or was invited to. */
export function OwnApps({ create }: { create: ReactNode }) {
  const tenant = useTenant();
  const answer = useAnswer(listMyApps, { params: { tenantID: tenant.id }, query: {} });
  return (
    <AnswerView answer={answer}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty
            title="No app yet"
            command="svc apps bootstrap --template react --slug hello --execute --watch"
            action={create}
          >
            An app has an address, a database of its own tables, storage and people who look after it. Begin
            with a template and it runs within a minute.
          </Empty>
        ) : (
          <AppList tenant={tenant.slug} apps={items} />
        )
      }
    </AnswerView>
  );
}
