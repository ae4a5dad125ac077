import { listAppMembers } from '@svc/contract/owners.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { useApp } from './use-app.ts';

/** Who is behind the ids in records of the app, as far as they belong to it. */
export function usePersonNames(): (id: string | null) => string | null {
  const { params, why } = useApp();
  const { data } = useAnswer(
    listAppMembers,
    { params, query: { per_page: 200 } },
    { enabled: why(listAppMembers) === null },
  );
  const names = new Map(data?.items.map(({ user_id, name }) => [user_id, name]));
  return (id) => (id === null ? null : (names.get(id) ?? null));
}
