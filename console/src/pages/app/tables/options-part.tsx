import { Checkbox, Stack, TextInput } from '@mantine/core';
import { historyDaysMax } from '@svc/contract/rows.ts';
import { updateTable } from '@svc/contract/tables.ts';
import { FormElement, FormEnd, SubmitButton } from '../../../components/form-card.tsx';
import { Heading } from '../../../components/text.tsx';
import { changedFields, useForm } from '../../../components/use-form.ts';
import { useTable } from './use-table.ts';

const daysError = (text: string) =>
  text === '' || (/^[1-9]\d{0,3}d$/.test(text) && Number.parseInt(text, 10) <= historyDaysMax)
    ? null
    : `Days, such as 30d; at most ${historyDaysMax}d.`;

/** Change feed, history and trash of a table. */
export function OptionsPart() {
  const { table, params, whyNotAlter } = useTable();
  const record = {
    changes: table.changes,
    history: table.history ?? '',
    soft_delete: table.soft_delete ?? '',
  };
  const errors = ({ history, soft_delete }: typeof record) => ({
    history: daysError(history),
    soft_delete: daysError(soft_delete),
  });
  const form = useForm(updateTable, record, {
    title: 'Update the table',
    verb: 'Update table',
    done: 'Table updated.',
    whyNot: (values) =>
      whyNotAlter(updateTable) ??
      (Object.keys(changedFields(record, values)).length === 0 ? 'Nothing has changed yet.' : null),
    errors,
    input: (values) => {
      const { changes, history, soft_delete } = changedFields(record, values);
      return {
        params,
        body: {
          ...(changes !== undefined && { changes }),
          ...(history !== undefined && { history: history || null }),
          ...(soft_delete !== undefined && { soft_delete: soft_delete || null }),
        },
      };
    },
  });
  const live = errors(form.values);
  return (
    <FormElement form={form}>
      <Stack gap="sm" maw={640}>
        <Heading order={3}>Changes, history and trash</Heading>
        <Checkbox
          {...form.checkbox('changes')}
          label="Change feed"
          description="Apps and the Live switch see changes of rows as they happen."
        />
        <TextInput
          {...form.field('history')}
          label="History"
          description="How long earlier states of rows can be read, such as 30d. Empty: no history. A shorter time deletes older states."
          error={live.history ?? form.error('history')}
          placeholder="none"
        />
        <TextInput
          {...form.field('soft_delete')}
          label="Trash"
          description="How long deleted rows can be restored, such as 30d. Empty: deleted rows cannot be restored."
          error={live.soft_delete ?? form.error('soft_delete')}
          placeholder="none"
        />
        <FormEnd form={form}>
          <SubmitButton form={form}>Preview change</SubmitButton>
        </FormEnd>
      </Stack>
    </FormElement>
  );
}
