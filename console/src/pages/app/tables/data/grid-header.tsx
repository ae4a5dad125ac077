import { Badge, Checkbox, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { IconArrowDown, IconArrowUp, IconEyeOff } from '@tabler/icons-react';
import type { VisibleColumn } from '../use-table.ts';
import { cellClass } from './cell-editor.tsx';
import { type SortKey, toggleSort } from './grid-query.ts';
import type { Relation } from './relations.ts';

/** References are sorted by the labels that are shown. */
export function GridHeader({
  columns,
  relations,
  sort,
  activeAt,
  isAllSelected,
  hasSnippets,
  onSort,
  onSelectAll,
}: {
  columns: readonly VisibleColumn[];
  relations: readonly Relation[];
  sort: readonly SortKey[];
  activeAt: number;
  isAllSelected: boolean;
  hasSnippets: boolean;
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
        {columns.map(({ name, type, ref, mask = null }, at) => {
          const related = relations.find(({ column, label }) => column === name && label !== null);
          const shown = related ? `${name}.${related.label}` : name;
          const key = sort.find(({ column }) => column === shown || column === name);
          const direction = key ? (key.descending ? 'descending' : 'ascending') : 'none';
          return (
            <th key={name} aria-sort={direction} className={cellClass(type)}>
              <UnstyledButton
                className="grid-sort"
                tabIndex={activeAt === at + 1 ? 0 : -1}
                onClick={(event) =>
                  onSort(toggleSort(sort, key?.column ?? shown, event.shiftKey ? 'added' : 'alone'))
                }
              >
                <span>{name}</span> <ColumnType type={ref === undefined ? type : `ref:${ref}`} mask={mask} />
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
        {hasSnippets && <th>Found</th>}
      </tr>
    </thead>
  );
}

/** The type of a column, and how its values are masked for the reader. */
export function ColumnType({ type, mask }: { type: string; mask: string | null }) {
  return (
    <>
      <span className="grid-type">{type}</span>
      {mask !== null && (
        <Badge
          size="xs"
          variant="light"
          color="yellow"
          tt="none"
          leftSection={<IconEyeOff size={10} aria-hidden />}
        >
          masked: {mask}
        </Badge>
      )}
    </>
  );
}
