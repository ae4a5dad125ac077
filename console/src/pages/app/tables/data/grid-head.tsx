import { Checkbox, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import type { ColumnView } from '../use-table.ts';
import { cellLooks } from './cell-looks.ts';
import { type SortKey, sortedBy } from './grid-query.ts';

export function GridHead({
  columns,
  sort,
  activeAt,
  isAllSelected,
  onSort,
  onSelectAll,
}: {
  columns: readonly ColumnView[];
  sort: readonly SortKey[];
  /** Where the keyboard stands in the head; -1: elsewhere. */
  activeAt: number;
  isAllSelected: boolean;
  onSort: (sort: SortKey[]) => void;
  onSelectAll: () => void;
}) {
  return (
    <thead>
      <tr>
        <th className="grid-check">
          <Checkbox
            size="xs"
            aria-label="Select all rows of this page"
            checked={isAllSelected}
            onChange={onSelectAll}
            tabIndex={activeAt === 0 ? 0 : -1}
          />
        </th>
        {columns.map(({ name, type }, at) => {
          const key = sort.find(({ column }) => column === name);
          const direction = key ? (key.descending ? 'descending' : 'ascending') : 'none';
          return (
            <th key={name} aria-sort={direction} className={cellLooks[type]}>
              <UnstyledButton
                className="grid-sort"
                tabIndex={activeAt === at + 1 ? 0 : -1}
                onClick={(event) => onSort(sortedBy(sort, name, event.shiftKey ? 'added' : 'alone'))}
              >
                <span>{name}</span> <span className="grid-type">{type}</span>
                {key &&
                  (key.descending ? (
                    <IconArrowDown size={14} aria-hidden />
                  ) : (
                    <IconArrowUp size={14} aria-hidden />
                  ))}
                <VisuallyHidden>, sort</VisuallyHidden>
              </UnstyledButton>
            </th>
          );
        })}
      </tr>
    </thead>
  );
}
