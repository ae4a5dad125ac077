import { Center, Stack } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { useMe } from '../api/me.ts';
import { EmptyState, LinkTo, PageHead } from '../components/page-layout.tsx';

export function NotFound({ error }: { error?: unknown }) {
  return (
    <>
      <PageHead title="Not found" />
      <Center>
        <EmptyState
          title="Page not found"
          error={error}
          action={<LinkTo to={consolePaths.home}>Go to the start page</LinkTo>}
        >
          It does not exist, or you have no access to it. If somebody sent you the link, ask them for access.
        </EmptyState>
      </Center>
    </>
  );
}

export function NoTenant() {
  const { email } = useMe();
  return (
    <Center component="main" mih="100dvh" p="md">
      <Stack maw={560}>
        <PageHead title="You are not a member of a tenant yet" />
        <EmptyState
          title="Ask an admin to add you"
          command={`svc-admin members set --tenant <slug> --user ${email} --role tenant_member`}
        >
          Apps belong to tenants. Ask an admin of yours to add you by your e-mail address, {email}. Then this
          page shows the apps of the tenant.
        </EmptyState>
      </Stack>
    </Center>
  );
}
