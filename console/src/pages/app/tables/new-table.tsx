import { Button, Divider, Group, NativeSelect, Stack, Text, Textarea, TextInput, Title } from '@mantine/core';
import { reservedNames, tableDescriptionBytesMax } from '@svc/contract/columns.ts';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { createTable } from '@svc/contract/tables.ts';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { useChange } from '../../../change/use-change.ts';
import { LinkTo } from '../../../parts/link-to.tsx';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { useFormFocus } from '../../../parts/use-form-focus.ts';
import { useApp } from '../use-app.ts';
import { whyNotActive } from '../why-not-active.ts';
import { type ColumnDraft, canOwnRows, columnOf, draftFaults, nameFault, newDraft } from './column-draft.ts';
import { ColumnFields } from './column-fields.tsx';

export function NewTable() {
  const { app, tenant, params, why } = useApp();
  const [, go] = useLocation();
  const form = useFormFocus('new-table');
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [columns, setColumns] = useState<readonly ColumnDraft[]>(() => [newDraft()]);
  const [owner, setOwner] = useState('');
  const [isTried, setTried] = useState(false);
  const change = useChange(createTable, {
    title: 'Create the table',
    verb: 'Create table',
    done: `The table ${name} is there.`,
    onDone: (table) => go(consolePaths.table(tenant.slug, app.slug, table.name)),
  });
  const here = consolePaths.app(tenant.slug, app.slug, 'tables');
  const faults = columns.map((draft, at) =>
    draftFaults(
      draft,
      columns.slice(0, at).map((other) => other.name),
    ),
  );
  const nameWrong = reservedNames.includes(name)
    ? 'is a word of queries and can not be a name'
    : nameFault(name);
  const bytes = new TextEncoder().encode(description).length;
  const tooLong =
    bytes > tableDescriptionBytesMax ? `is ${bytes} bytes of at most ${tableDescriptionBytesMax}` : '';
  const owners = columns.filter((draft) => draft.name !== '' && canOwnRows(draft));
  const isGood = !nameWrong && !tooLong && faults.every((each) => Object.keys(each).length === 0);
  const shown = (fault: string | undefined) => (isTried ? fault : undefined);
  const setColumn = (at: number, draft: ColumnDraft) =>
    setColumns(columns.map((each, index) => (index === at ? draft : each)));

  function submit() {
    setTried(true);
    if (!isGood) return;
    void change.propose({
      params,
      body: {
        name,
        description,
        columns: columns.map(columnOf),
        owner_column: owners.some((draft) => draft.name === owner) ? owner : null,
      },
    });
  }

  return (
    <form
      ref={form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <Stack maw={900}>
        <LinkTo to={here} size="sm">
          All tables
        </LinkTo>
        <Title order={2} size="h4">
          New table
        </Title>
        <TextInput
          label="Name"
          description="Part of its address in the data API: a-z, 0-9 and _."
          value={name}
          error={shown(nameWrong) ?? change.errorOf('name')}
          onChange={(event) => setName(event.currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
          maw={420}
        />
        <Textarea
          label="Description"
          value={description}
          error={tooLong || change.errorOf('description')}
          onChange={(event) => setDescription(event.currentTarget.value)}
          autosize
          minRows={2}
          maw={640}
        />
        <Divider />
        <Title order={3} size="h5">
          Columns
        </Title>
        <Text size="sm" c="dimmed">
          The service adds id, created_at and updated_at, and fills them in, unless you name them yourself.
        </Text>
        {columns.map((draft, at) => (
          <ColumnFields
            key={draft.key}
            draft={draft}
            label={`Column ${at + 1}`}
            faults={{
              ...(isTried ? faults[at] : {}),
              ...serverFaults(change.errorOf, `columns.${at}.`),
            }}
            onChange={(next) => setColumn(at, next)}
            end={
              <Button
                variant="subtle"
                color="gray"
                mt={{ base: 0, xs: 24 }}
                onClick={() => setColumns(columns.filter((_, index) => index !== at))}
                aria-label={`Leave out column ${at + 1}${draft.name && `, ${draft.name}`}`}
              >
                <IconTrash size={16} aria-hidden />
              </Button>
            }
          />
        ))}
        <Group>
          <Button
            variant="default"
            leftSection={<IconPlus size={16} aria-hidden />}
            onClick={() => setColumns([...columns, newDraft()])}
          >
            Add a column
          </Button>
        </Group>
        <NativeSelect
          label="Rows belong to"
          description="A column that holds user ids. Who comes by a table grant or through the app sees only rows of their own."
          data={[
            { value: '', label: 'the app: no owner column' },
            ...owners.map((draft) => ({ value: draft.name, label: `whoever ${draft.name} names` })),
          ]}
          value={owner}
          error={change.errorOf('owner_column')}
          onChange={(event) => setOwner(event.currentTarget.value)}
          maw={420}
        />
        {change.problem !== null && <ProblemAlert error={change.problem} />}
        <Group>
          <MayButton
            type="submit"
            why={why(createTable) ?? whyNotActive(app)}
            onClick={() => {}}
            loading={change.isBusy}
          >
            Preview the table
          </MayButton>
          <Button variant="default" onClick={() => go(here)}>
            Cancel
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function serverFaults(errorOf: (field: string) => string | undefined, prefix: string) {
  const found = (['name', 'type', 'nullable', 'default'] as const).flatMap((field) => {
    const detail = errorOf(prefix + field);
    return detail === undefined ? [] : [[field, detail] as const];
  });
  return Object.fromEntries(found);
}
