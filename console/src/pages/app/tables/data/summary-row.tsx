import { Button, Popover, Stack, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { countCap } from '@svc/contract/rows.ts';
import { IconSum } from '@tabler/icons-react';
import type { VisibleColumn } from '../use-table.ts';
import { cellClass } from './cell-editor.tsx';
import { type SummaryRowState, summaryChoices, summaryLabels } from './summary.ts';

/** Below the rows of the page, about all rows that the grid pages through. */
export function SummaryRow({
  columns,
  summary,
  activeAt,
  hasSnippets,
}: {
  columns: readonly VisibleColumn[];
  summary: SummaryRowState;
  activeAt: number;
  hasSnippets: boolean;
}) {
  return (
    <tfoot>
      <tr>
        <th scope="row" className="grid-check" tabIndex={activeAt === 0 ? 0 : -1}>
          {countText(summary.count)}
        </th>
        {columns.map((column, at) => (
          <td key={column.name} className={cellClass(column.type)}>
            <SummaryCell column={column} summary={summary} tabIndex={activeAt === at + 1 ? 0 : -1} />
          </td>
        ))}
        {hasSnippets && <td />}
      </tr>
    </tfoot>
  );
}

function countText(count: number | undefined): string {
  if (count === undefined) return 'Rows';
  if (count >= countCap) return `${countCap.toLocaleString('en')}+ rows`;
  return count === 1 ? '1 row' : `${count.toLocaleString('en')} rows`;
}

function SummaryCell({
  column,
  summary,
  tabIndex,
}: {
  column: VisibleColumn;
  summary: SummaryRowState;
  tabIndex: number;
}) {
  const { summaries, texts, choose, why } = summary;
  const chosen = summaries.get(column.name);
  const [isOpen, { toggle, close }] = useDisclosure(false);
  return (
    <Popover
      opened={isOpen}
      onChange={(opened) => !opened && close()}
      position="top-start"
      shadow="md"
      trapFocus
      returnFocus
      withRoles={false}
    >
      <Popover.Target>
        <UnstyledButton
          className="grid-sort"
          tabIndex={tabIndex}
          title={why ?? undefined}
          aria-haspopup="dialog"
          aria-expanded={isOpen}
          onClick={toggle}
        >
          {chosen ? (
            <>
              <span className="grid-type">{summaryLabels[chosen]}</span> {texts.get(column.name) ?? '–'}
              <VisuallyHidden>, summary of {column.name}</VisuallyHidden>
            </>
          ) : (
            <>
              <IconSum size={14} aria-hidden className="grid-type" />
              <VisuallyHidden>Summarize {column.name}</VisuallyHidden>
            </>
          )}
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown role="dialog" aria-label={`Summary of ${column.name}`}>
        <Stack gap={4}>
          {[...summaryChoices(column), null].map((name) => (
            <Button
              key={name}
              size="compact-sm"
              justify="flex-start"
              variant={name === (chosen ?? null) ? 'light' : 'subtle'}
              onClick={() => {
                choose(column.name, name);
                close();
              }}
            >
              {name === null ? 'No summary' : summaryLabels[name]}
            </Button>
          ))}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
