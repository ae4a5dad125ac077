import { Accordion, List } from '@mantine/core';
import { pendingDaysMax, wrongHoursMin } from '@svc/contract/domains.ts';

export function StatusWords() {
  return (
    <Accordion variant="contained" chevronPosition="left">
      <Accordion.Item value="words">
        <Accordion.Control>What the states mean</Accordion.Control>
        <Accordion.Panel>
          <List size="sm" spacing="xs">
            <List.Item>
              <strong>pending</strong>: the records are looked for, for {pendingDaysMax} days. Nothing is
              served at the name yet.
            </List.Item>
            <List.Item>
              <strong>active</strong>: the records are right, and the app answers at the name.
            </List.Item>
            <List.Item>
              <strong>disconnected</strong>: the records were not found in time, led elsewhere for more than{' '}
              {wrongHoursMin} hours, or the name is somebody else’s. “Verify now” begins anew.
            </List.Item>
          </List>
        </Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  );
}
