import { Group, NativeSelect, Text } from '@mantine/core';
import { useState } from 'react';
import { MayButton } from '../../../../parts/may-button.tsx';
import { type GridQuery, perPageChoices } from './grid-query.ts';

const firstShown = 'This is the first page.';
const unknownPrevious = 'You came here by a link, so the page before is not known. Begin at the first.';

/** From page to page by the cursor of the row API: the thousandth costs what the first does. */
export function Pager({
  query,
  setQuery,
  nextCursor,
  rows,
}: {
  query: GridQuery;
  setQuery: (change: Partial<GridQuery>) => void;
  /** Null: this is the last page. */
  nextCursor: string | null;
  rows: number;
}) {
  // Which page each was reached from, as far as they were walked through here: the browser's own buttons count too.
  const [before, setBefore] = useState<ReadonlyMap<string, string | null>>(new Map());
  const isFirst = query.cursor === null;
  const previous = query.cursor === null ? undefined : before.get(query.cursor);
  return (
    <Group justify="space-between" gap="sm">
      <Group gap="xs">
        <MayButton
          variant="default"
          size="sm"
          why={isFirst ? firstShown : null}
          onClick={() => setQuery({ cursor: null })}
        >
          First page
        </MayButton>
        <MayButton
          variant="default"
          size="sm"
          why={previous === undefined ? (isFirst ? firstShown : unknownPrevious) : null}
          onClick={() => setQuery({ cursor: previous ?? null })}
        >
          Previous
        </MayButton>
        <MayButton
          variant="default"
          size="sm"
          why={nextCursor === null ? 'This is the last page.' : null}
          onClick={() => {
            if (nextCursor === null) return;
            setBefore(new Map(before).set(nextCursor, query.cursor));
            setQuery({ cursor: nextCursor });
          }}
        >
          Next
        </MayButton>
        <Text size="sm" role="status">
          {rows === 1 ? '1 row' : `${rows} rows`} on this page
        </Text>
      </Group>
      <NativeSelect
        aria-label="Rows per page"
        size="sm"
        data={perPageChoices.map((count) => ({ value: String(count), label: `${count} per page` }))}
        value={String(query.perPage)}
        onChange={(event) => setQuery({ perPage: Number(event.currentTarget.value) })}
      />
    </Group>
  );
}
