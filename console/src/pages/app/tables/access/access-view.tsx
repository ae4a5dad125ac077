import { Stack } from '@mantine/core';
import { GrantsPart } from './grants-part.tsx';
import { OwnersPart } from './owners-part.tsx';

/** Who reaches the rows: the app's own people, and whom they let in. */
export function AccessView() {
  return (
    <Stack gap="xl">
      <OwnersPart />
      <GrantsPart />
    </Stack>
  );
}
