import { getApp } from '@svc/contract/apps.ts';
import { listDeployments } from '@svc/contract/deployments.ts';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useAnswer } from '../../../api/use-answer.ts';
import { useApp } from '../use-app.ts';
import { isUnderWay } from './deployment-phases.ts';

const busyMs = 2_000;
const idleMs = 15_000;

/** The newest ones; asked for often while one is under way, and now and then for those that others make. */
export function useDeployments(query: { page?: number; per_page: number }) {
  const { params } = useApp();
  const answer = useAnswer(
    listDeployments,
    { params, query },
    { everyMs: (last) => (last?.items.some(isUnderWay) ? busyMs : idleMs) },
  );
  useAppAgain(answer.data?.items.map(({ id, state }) => `${id} ${state}`).join());
  return answer;
}

/** What a deployment comes to changes the app itself, whose state stands above every tab. */
export function useAppAgain(states: string | undefined): void {
  const queries = useQueryClient();
  const seen = useRef(states);
  useEffect(() => {
    if (states === undefined || seen.current === states) return;
    if (seen.current !== undefined) void queries.invalidateQueries({ queryKey: [getApp.id] });
    seen.current = states;
  }, [states, queries]);
}
