import { Center, Stack } from '@mantine/core';
import { useMe } from '../api/me.ts';
import { Empty } from '../parts/empty.tsx';
import { PageHead } from '../parts/page-head.tsx';

export function NoTenant() {
  const { email } = useMe();
  return (
    <Center component="main" mih="100dvh" p="md">
      <Stack maw={560}>
        <PageHead title="You belong to no tenant yet" />
        <Empty
          title="Ask an admin to add you"
          command={`svc-admin members set --tenant <slug> --user ${email} --role tenant_member`}
        >
          Apps belong to tenants. An admin of yours adds you by your address, {email}; then this page shows
          its apps.
        </Empty>
      </Stack>
    </Center>
  );
}
