import { Divider, NavLink, ScrollArea, Stack, Text } from '@mantine/core';
import { Link, useLocation } from 'wouter';
import { useTenant } from '../api/me.ts';
import { adminEntries, entries, type NavEntry } from './nav-entries.ts';

export function Nav() {
  const tenant = useTenant();
  return (
    <ScrollArea type="hover" scrollbarSize={6} component="nav" aria-label="Pages" h="100%">
      <Stack gap={2}>
        {entries(tenant).map((entry) => (
          <Entry key={entry.label} {...entry} />
        ))}
      </Stack>
      <Divider my="sm" />
      {tenant.role === 'tenant_admin' && (
        <Text size="xs" fw={600} c="dimmed" mb={4} px="sm">
          Tenant admin
        </Text>
      )}
      <Stack gap={2}>
        {adminEntries(tenant).map((entry) => (
          <Entry key={entry.label} {...entry} />
        ))}
      </Stack>
    </ScrollArea>
  );
}

function Entry({ label, to, icon: Icon, why }: NavEntry) {
  const [path] = useLocation();
  const isHere = path === to || path.startsWith(`${to}/`);
  const shared = { label, leftSection: <Icon size={18} />, py: 6, style: { borderRadius: 8 } };
  if (why !== undefined) {
    // Within reach of the keyboard, and as easy to read as the rest: the reason is the point of it.
    return (
      <NavLink
        {...shared}
        component="span"
        role="link"
        tabIndex={0}
        aria-disabled
        description={why}
        c="dimmed"
        style={{ ...shared.style, cursor: 'not-allowed' }}
      />
    );
  }
  return (
    <NavLink
      {...shared}
      component={Link}
      href={to}
      active={isHere}
      aria-current={isHere ? 'page' : undefined}
    />
  );
}
