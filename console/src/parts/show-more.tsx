import { Group } from '@mantine/core';
import { BusyButton } from './busy-button.tsx';

/** Below a list that goes on. */
export function ShowMore({ pages }: { pages: { more: (() => void) | undefined; isMoreBusy: boolean } }) {
  if (!pages.more) return null;
  return (
    <Group justify="center" mt="md">
      <BusyButton variant="default" onClick={pages.more} loading={pages.isMoreBusy}>
        Show more
      </BusyButton>
    </Group>
  );
}
