import { listAppMembers } from '@svc/contract/owners.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { PagedList } from '../../../parts/paged-list.tsx';
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
      <div>
        <PagedList answer={answer}>{(items) => <PersonTable people={items} />}</PagedList>
      </div>
      <AddPerson />
    </Section>
  );
}
