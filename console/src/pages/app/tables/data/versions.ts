import { jsonItems, jsonMembers, type RawRow } from '@svc/contract/json.ts';
import type { Preview } from '@svc/contract/plan.ts';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { randomKey } from '../../../../api/client.ts';
import { usePropose } from '../../../../change/change-dialog.tsx';
import { useTask } from '../../../../change/use-change.ts';
import { useToast } from '../../../../components/toasts.tsx';
import { useTable } from '../use-table.ts';
import { sqlNull } from './cell-value.ts';
import { fetchNames, restoreRequest, rowsAt } from './rows-api.ts';

export interface Version {
  version: string;
  action: string;
  at: string;
  by: string | null;
  requestId: string | null;
  before: RawRow | null;
  row: RawRow | null;
}

const perPage = 20;

export function useVersions(of: 'trash' | { id: string; below: 'history' }, page: number) {
  const { path, tenant, app } = useTable();
  return useQuery({
    queryKey: ['rows.versions', path, of, page],
    queryFn: async ({ signal }) => {
      const query = Object.entries({ page: String(page), per_page: String(perPage) });
      const { text } = await rowsAt(path).call({ of, query, signal });
      const answer = jsonMembers(text);
      const versions = jsonItems(answer.get('data') ?? '[]').map(readVersion);
      const ids = [...new Set(versions.flatMap(({ by }) => by ?? []))];
      const people = `/data/${tenant.slug}/${app.slug}/_people`;
      // A name that cannot be read is no reason to show no history.
      const names = await fetchNames(people, ids, signal).catch(() => new Map<string, string>());
      return { versions, names, hasMore: answer.get('has_more') === 'true' };
    },
  });
}

function readVersion(text: string): Version {
  const members = jsonMembers(text);
  const plain = (name: string) => JSON.parse(members.get(name) ?? 'null') as string | null;
  const row = (name: string) => {
    const json = members.get(name) ?? sqlNull;
    return json === sqlNull ? null : jsonMembers(json);
  };
  return {
    version: plain('version') ?? '',
    action: plain('action') ?? '',
    at: plain('at') ?? '',
    by: plain('by'),
    requestId: plain('request_id'),
    before: row('before'),
    row: row('row'),
  };
}

/** Several people can use the same request id, since clients choose it. */
export const isSameRequest = (one: Version, other: Version) =>
  one.requestId !== null && one.requestId === other.requestId && one.by === other.by;

/** Undoes everything that the request of an entry did to rows of the table, after the server's plan was confirmed. */
export function useUndo(onPlanned: () => void) {
  const { table, path } = useTable();
  const propose = usePropose();
  const showToast = useToast();
  const { run, ...task } = useTask();
  const [tried, setTried] = useState<string | null>(null);
  const undo = ({ version, requestId, by }: Version) =>
    run(async () => {
      setTried(version);
      const key = randomKey();
      const request = { requestId, by };
      const preview = async () =>
        (JSON.parse(await restoreRequest(path, request, { dryRun: true })) as Preview).plan;
      const plan = await preview();
      onPlanned();
      propose({
        title: `Undo a change of ${table.name}`,
        plan,
        previewAgain: preview,
        execute: async (ifPlan) => {
          const { restored } = JSON.parse(await restoreRequest(path, request, { ifPlan, key }));
          showToast(`Rows restored: ${restored}.`);
        },
      });
    });
  return { undo, tried, ...task };
}
