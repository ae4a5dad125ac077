import { SimpleGrid } from '@mantine/core';
import { getMyGrantTerms, listMyGrants } from '@svc/contract/grants.ts';
import { useTenant } from '../../api/me.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { AnswerView } from '../../parts/answer-view.tsx';
import { Empty } from '../../parts/empty.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { GrantCard } from './grant-card.tsx';

/** What one may use, by whose word, and how far it reaches. */
export default function MyGrantsPage() {
  const tenant = useTenant();
  const params = { tenantID: tenant.id };
  const answer = useAnswer(listMyGrants, { params });
  const terms = useAnswer(getMyGrantTerms, { params }).data;
  return (
    <>
      <PageHead title="My grants" lead="What you may use of the tenant's data, and how far it reaches." />
      <AnswerView answer={answer}>
        {(grants) =>
          grants.length === 0 ? (
            <Empty title="Nothing is granted to you yet" command="svc grants mine">
              A grant lets you use a connector: a database, a service, the tables of an app. A tenant admin
              gives it; tell them which data you need, what for, and for how long. Your own apps need none.
            </Empty>
          ) : (
            <SimpleGrid cols={{ base: 1, md: 2, xl: 3 }}>
              {grants.map((grant) => (
                <GrantCard
                  key={grant.id}
                  grant={grant}
                  connector={terms?.connectors.find(({ id }) => id === grant.connector_id)}
                  preset={terms?.presets.find(({ id }) => id === grant.preset_id)}
                />
              ))}
            </SimpleGrid>
          )
        }
      </AnswerView>
    </>
  );
}
