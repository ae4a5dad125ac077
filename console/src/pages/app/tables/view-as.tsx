import { Group, SegmentedControl, Stack, TextInput } from '@mantine/core';
import { previewVia } from '@svc/contract/access-preview.ts';
import { useState } from 'react';
import { AccessPreview } from '../../../components/access-preview.tsx';
import { ActionButton } from '../../../components/buttons.tsx';
import { Hint } from '../../../components/text.tsx';
import { useUrlChoice, useUrlValue } from '../../../components/url-state.ts';
import { useTable } from './use-table.ts';

const labels = { app: 'Inside the app', console: 'Outside the app' };

export function ViewAs() {
  const { table, app } = useTable();
  const [person, setPerson] = useUrlValue('person');
  const [via, setVia] = useUrlChoice('via', 'app', previewVia);
  const [draft, setDraft] = useState(person);
  return (
    <Stack>
      <Hint>
        Shows which rows and columns a member of the tenant sees, and why. Nothing is changed, and you see
        only rows that you may see yourself.
      </Hint>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setPerson(draft.trim());
        }}
      >
        <Group align="flex-end">
          <TextInput
            label="Person"
            placeholder="ada@example.com"
            value={draft}
            onChange={(event) => setDraft(event.currentTarget.value)}
            w={320}
          />
          <SegmentedControl
            transitionDuration={0}
            aria-label="How the person accesses the table"
            value={via}
            onChange={(next) => setVia(next === 'console' ? 'console' : 'app')}
            data={previewVia.map((value) => ({ value, label: labels[value] }))}
          />
          <ActionButton
            type="submit"
            why={draft.trim() === '' ? 'Enter the e-mail address of a member first.' : null}
            onClick={() => {}}
          >
            View as
          </ActionButton>
        </Group>
      </form>
      {person !== '' && <AccessPreview as={person} app={app.slug} table={table.name} via={via} />}
    </Stack>
  );
}
