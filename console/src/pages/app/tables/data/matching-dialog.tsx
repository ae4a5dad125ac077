import { Group, NativeSelect, NumberInput, Stack, Text } from '@mantine/core';
import type { Preview } from '@svc/contract/plan.ts';
import { affectedDefault, affectedMax } from '@svc/contract/rows.ts';
import { useState } from 'react';
import { randomKey } from '../../../../api/client.ts';
import { usePropose } from '../../../../change/change-dialog.tsx';
import { useTask } from '../../../../change/use-change.ts';
import { BusyButton } from '../../../../components/buttons.tsx';
import { Dialog } from '../../../../components/dialog.tsx';
import { ProblemAlert } from '../../../../components/problem-alert.tsx';
import { SecondaryButton } from '../../../../components/text.tsx';
import { useToast } from '../../../../components/toasts.tsx';
import { useFields } from '../../../../components/use-form.ts';
import { useTable } from '../use-table.ts';
import { ValueInput } from './cell-editor.tsx';
import { type Field, parseField } from './cell-value.ts';
import { filterLabel, formatFilter, type GridQuery, listSearch } from './grid-query.ts';
import { changeMatching } from './rows-api.ts';

const deletion = '';

/** Changes or deletes all rows that match the filter, after the server's plan was confirmed. */
export function MatchingDialog({
  query,
  onClose,
  onStored,
}: {
  query: GridQuery;
  onClose: () => void;
  onStored: () => void;
}) {
  const { table, path } = useTable();
  const propose = usePropose();
  const showToast = useToast();
  const { run, isBusy, problem } = useTask();
  const columns = table.columns.filter(({ generated, name }) => !generated && name !== table.owner_column);
  const form = useFields({
    column: columns[0]?.name ?? deletion,
    value: { mode: 'value', text: '' } as Field,
    rowsMax: affectedDefault,
  });
  const [fault, setFault] = useState<string>();
  const { rowsMax } = form.values;
  const column = columns.find((each) => each.name === form.values.column);

  async function preview() {
    const written = column && parseField(column, form.values.value);
    setFault(written?.ok === false ? written.detail : undefined);
    if (written?.ok === false) return;
    const values = column && written ? new Map([[column.name, written.json]]) : null;
    const filters = [...listSearch({ ...query, sort: [], search: '' }, null)];
    const change = { filters, rowsMax, values };
    const key = randomKey();
    const plan = async () =>
      (JSON.parse(await changeMatching(path, { ...change, dryRun: true })) as Preview).plan;
    await run(async () => {
      const first = await plan();
      onClose();
      propose({
        title: values ? `Change rows of ${table.name}` : `Delete rows of ${table.name}`,
        verb: values ? 'Change' : 'Delete',
        plan: first,
        previewAgain: plan,
        execute: async (ifPlan) => {
          const { updated, deleted } = JSON.parse(await changeMatching(path, { ...change, ifPlan, key }));
          showToast(values ? `Rows changed: ${updated}.` : `Rows deleted: ${deleted}.`);
          onStored();
        },
      });
    });
  }

  return (
    <Dialog onClose={onClose} title={`Change matching rows of ${table.name}`} size="lg" isBusy={isBusy}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!isBusy) void preview();
        }}
      >
        <Stack>
          <Text size="sm">
            All rows where{' '}
            {query.filters
              .map((filter) => {
                const found = table.columns.find((each) => each.name === filter.column);
                return found ? filterLabel(found.type, filter) : formatFilter(filter);
              })
              .join(' and ')}
            .
          </Text>
          <NativeSelect
            {...form.field('column')}
            label="Change"
            data={[
              ...columns.map((each) => ({ value: each.name, label: `Set ${each.name}` })),
              { value: deletion, label: 'Delete the rows' },
            ]}
          />
          {column && (
            <ValueInput
              type={column.type}
              reference={column.ref}
              column={column.name}
              label="New value"
              description={
                column.nullable ? `${column.type}; empty is null unless it is a text` : column.type
              }
              text={form.values.value.text}
              onText={(text) => form.set({ value: { mode: 'value', text } })}
              error={fault}
            />
          )}
          <NumberInput
            {...form.field('rowsMax')}
            label="At most"
            description="If more rows match, nothing is changed."
            min={1}
            max={affectedMax}
            onChange={(value) => form.set({ rowsMax: Number(value) || affectedDefault })}
          />
          <ProblemAlert error={problem} />
          <Group justify="flex-end">
            <SecondaryButton onClick={onClose} disabled={isBusy}>
              Cancel
            </SecondaryButton>
            <BusyButton type="submit" loading={isBusy}>
              Preview
            </BusyButton>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
