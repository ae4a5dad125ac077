import { Group, Stack, Text, Textarea, TextInput, Title } from '@mantine/core';
import { reservedNames, tableDescriptionBytesMax } from '@svc/contract/columns.ts';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { updateTable } from '@svc/contract/tables.ts';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { useChange } from '../../../../change/use-change.ts';
import { MayButton } from '../../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../../parts/problem-alert.tsx';
import { nameFault } from '../column-draft.ts';
import { useTable } from '../use-table.ts';

/** What the table is called and what it is for. To whom its rows belong was settled when it was made. */
export function NamePart() {
  const { table, app, tenant, params, whyShape } = useTable();
  const [, go] = useLocation();
  const [name, setName] = useState(table.name);
  const [description, setDescription] = useState(table.description);
  const change = useChange(updateTable, {
    title: 'Change the table',
    verb: 'Change table',
    done: 'The table is changed.',
    onDone: (changed) =>
      go(`${consolePaths.table(tenant.slug, app.slug, changed.name)}?view=schema`, { replace: true }),
  });
  const bytes = new TextEncoder().encode(description).length;
  const tooLong =
    bytes > tableDescriptionBytesMax ? `is ${bytes} bytes of at most ${tableDescriptionBytesMax}` : null;
  const wrong = reservedNames.includes(name) ? 'is a word of queries and can not be a name' : nameFault(name);
  const body = {
    ...(name === table.name ? {} : { name }),
    ...(description === table.description ? {} : { description }),
  };
  const whySame = Object.keys(body).length === 0 ? 'Nothing is changed yet.' : null;
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!wrong && !tooLong && !whySame) void change.propose({ params, body });
      }}
    >
      <Stack gap="sm" maw={640}>
        <Title order={3} size="h4">
          Name and description
        </Title>
        <TextInput
          label="Name"
          description="Also its address in the data API: programs that use the old one no longer find it."
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={wrong ?? change.errorOf('name')}
          autoComplete="off"
          spellCheck={false}
        />
        <Textarea
          label="Description"
          value={description}
          onChange={(event) => setDescription(event.currentTarget.value)}
          error={tooLong ?? change.errorOf('description')}
          autosize
          minRows={2}
        />
        <Text size="sm" c="dimmed">
          {table.owner_column === null
            ? 'Rows belong to the app. An owner column is chosen when a table is made.'
            : `Rows belong to whoever ${table.owner_column} names. That stays as the table was made.`}
        </Text>
        {change.problem !== null && <ProblemAlert error={change.problem} />}
        <Group>
          <MayButton
            type="submit"
            why={whyShape(updateTable) ?? whySame}
            loading={change.isBusy}
            onClick={() => {}}
          >
            Preview the change
          </MayButton>
        </Group>
      </Stack>
    </form>
  );
}
