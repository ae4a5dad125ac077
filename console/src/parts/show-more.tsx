import { Button, Group } from '@mantine/core';

/** Below a list that goes on. */
export function ShowMore({ pages }: { pages: { more: (() => void) | undefined; isMoreBusy: boolean } }) {
  if (!pages.more) return null;
  return (
    <Group justify="center" mt="md">
      <Button variant="default" onClick={pages.more} loading={pages.isMoreBusy}>
        Show more
      </Button>
    </Group>
  );
}
