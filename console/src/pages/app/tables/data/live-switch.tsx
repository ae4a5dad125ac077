import { Switch, Tooltip } from '@mantine/core';
import { ProblemError } from '@svc/contract/client.ts';
import { followFeed } from '@svc/sdk/follow.ts';
import { useEffect, useState } from 'react';
import { useTable } from '../use-table.ts';
import { type GridQuery, listSearch, withoutRelated } from './grid-query.ts';
import { rowsAt } from './rows-api.ts';

/** Many changes at once are one request for the page. */
const refreshMs = 300;

/** Reads the page again when rows change that match the filter. */
export function LiveSwitch({ query, refresh }: { query: GridQuery; refresh: () => void }) {
  const { table, app, path } = useTable();
  const [isLive, setLive] = useState(false);
  // A feed has no search and no related rows: more changes count than those of the listed rows.
  const filters = String(listSearch({ ...withoutRelated(query), sort: [], search: '' }, null));
  useEffect(() => {
    if (!isLive) return;
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const follow = async () => {
      const feed = followFeed({
        signal: stop.signal,
        open: (headers, signal) =>
          rowsAt(path).open({ of: 'changes', query: [...new URLSearchParams(filters)], headers, signal }),
        isFinal: (error) => error instanceof ProblemError && error.problem.status < 500,
      });
      for await (const _ of feed) timer ??= setTimeout(update, refreshMs);
    };
    const update = () => {
      timer = undefined;
      refresh();
    };
    follow().catch(() => setLive(false));
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [isLive, path, filters, refresh]);
  const why = `The table has no change feed: svc tables update ${table.name} --app ${app.slug} --changes true --execute`;
  return (
    <Tooltip label={why} disabled={table.changes} multiline maw={360}>
      <Switch
        label="Live"
        checked={isLive}
        disabled={!table.changes}
        onChange={(event) => setLive(event.currentTarget.checked)}
      />
    </Tooltip>
  );
}
