import { listAppMembers } from '@svc/contract/owners.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { Pager } from '../../../parts/pager.tsx';
import { PastTheEnd } from '../../../parts/past-the-end.tsx';
import { Section } from '../../../parts/section.tsx';
import { usePage } from '../../../parts/use-search-value.ts';
import { useApp } from '../use-app.ts';
import { AddPerson } from './add-person.tsx';
import { PersonTable } from './person-table.tsx';

export function PeopleCard() {
  const { params } = useApp();
  const answer = useAnswer(listAppMembers, { params, query: { page: usePage() } });
  return (
    <Section
      title="People"
      lead="Owners change the app. Who is invited sees it as soon as it is shown by invitation."
    >
      <AnswerView answer={answer}>
        {({ items, page, per_page: perPage, total }) => (
          <div>
            {items.length === 0 && page > 1 ? <PastTheEnd /> : <PersonTable people={items} />}
            {items.length > 0 && <Pager page={page} perPage={perPage} total={total} />}
          </div>
        )}
      </AnswerView>
      <AddPerson />
    </Section>
  );
}
