import { Checkbox, Group, NativeSelect, TextInput } from '@mantine/core';
import { columnTypes } from '@svc/contract/columns.ts';
import type { ReactNode } from 'react';
import { type ColumnDraft, type DraftFaults, defaultFunctions } from './column-draft.ts';

/** One column of a form. `name` says which, for who does not see where it stands. */
export function ColumnFields({
  draft,
  faults,
  label,
  onChange,
  end,
}: {
  draft: ColumnDraft;
  faults: DraftFaults;
  label: string;
  onChange: (draft: ColumnDraft) => void;
  end?: ReactNode;
}) {
  const made = defaultFunctions[draft.type];
  return (
    <Group gap="sm" align="flex-start" role="group" aria-label={label}>
      <TextInput
        label="Name"
        value={draft.name}
        error={faults.name}
        onChange={(event) => onChange({ ...draft, name: event.currentTarget.value })}
        autoComplete="off"
        spellCheck={false}
        w={{ base: '100%', xs: 180 }}
      />
      <NativeSelect
        label="Type"
        data={[...columnTypes]}
        value={draft.type}
        error={faults.type}
        onChange={(event) => {
          const type = columnTypes.find((each) => each === event.currentTarget.value);
          if (type) onChange({ ...draft, type });
        }}
        w={{ base: '100%', xs: 140 }}
      />
      <Checkbox
        label="May be null"
        checked={draft.nullable}
        error={faults.nullable}
        onChange={(event) => onChange({ ...draft, nullable: event.currentTarget.checked })}
        mt={{ base: 0, xs: 32 }}
      />
      <Checkbox
        label="Has a default"
        checked={draft.hasDefault}
        onChange={(event) =>
          onChange({
            ...draft,
            hasDefault: event.currentTarget.checked,
            default: draft.default || (made ?? ''),
          })
        }
        mt={{ base: 0, xs: 32 }}
      />
      {draft.hasDefault && (
        <TextInput
          label="Default"
          placeholder={made}
          value={draft.default}
          error={faults.default}
          onChange={(event) => onChange({ ...draft, default: event.currentTarget.value })}
          autoComplete="off"
          w={{ base: '100%', xs: 200 }}
        />
      )}
      {end}
    </Group>
  );
}
