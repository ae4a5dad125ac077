import { Divider, NavLink, ScrollArea, Stack, Text } from '@mantine/core';
import { type AdminTab, consolePaths } from '@svc/contract/console-paths.ts';
import {
  IconApps,
  IconBell,
  IconCategory,
  IconCertificate,
  IconChecklist,
  IconCompass,
  IconDeviceLaptop,
  IconEye,
  IconFilterCog,
  IconHistory,
  IconKey,
  IconLock,
  IconPlugConnected,
  IconSettings,
  IconShieldLock,
  IconUserShield,
  IconUsers,
  IconUsersGroup,
} from '@tabler/icons-react';
import type { ComponentType } from 'react';
import { Link, useLocation } from 'wouter';
import { type OwnTenant, useTenant } from '../api/me.ts';

export function Nav() {
  const tenant = useTenant();
  return (
    <ScrollArea type="hover" scrollbarSize={6} component="nav" aria-label="Pages" h="100%">
      <Stack gap={2}>
        {navEntries(tenant).map((entry) => (
          <NavItem key={entry.label} {...entry} />
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
          <NavItem key={entry.label} {...entry} />
        ))}
      </Stack>
    </ScrollArea>
  );
}

function NavItem({ label, to, icon: Icon, why }: NavEntry) {
  const [path] = useLocation();
  const isHere = path === to || path.startsWith(`${to}/`);
  const shared = { label, leftSection: <Icon size={18} />, py: 6, style: { borderRadius: 8 } };
  if (why !== undefined) {
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

interface NavEntry {
  label: string;
  to: string;
  icon: ComponentType<{ size?: number | string }>;
  why?: string;
}

function navEntries({ slug, role }: OwnTenant): NavEntry[] {
  const reviews = { label: 'Reviews', to: consolePaths.reviews(slug), icon: IconChecklist };
  return [
    { label: 'Catalogue', to: consolePaths.catalogue(slug), icon: IconCompass },
    { label: 'My apps', to: consolePaths.apps(slug), icon: IconApps },
    { label: 'Notifications', to: consolePaths.notifications(slug), icon: IconBell },
    role === 'tenant_admin' ? reviews : { ...reviews, why: 'For tenant admins' },
    { label: 'My access', to: consolePaths.grants(slug), icon: IconKey },
    { label: 'Access tokens', to: consolePaths.tokens(slug), icon: IconLock },
    { label: 'Sessions', to: consolePaths.sessions(slug), icon: IconDeviceLaptop },
    { label: 'Security', to: consolePaths.security(slug), icon: IconShieldLock },
  ];
}

function adminEntries({ slug, role }: OwnTenant): NavEntry[] {
  const to = (tab: AdminTab) => consolePaths.admin(slug, tab);
  if (role !== 'tenant_admin') {
    return [{ label: 'Administration', to: to('members'), icon: IconSettings, why: 'For tenant admins' }];
  }
  return [
    { label: 'Members', to: to('members'), icon: IconUsers },
    { label: 'Groups', to: to('groups'), icon: IconUsersGroup },
    { label: 'Categories', to: to('categories'), icon: IconCategory },
    { label: 'Connectors', to: to('connectors'), icon: IconPlugConnected },
    { label: 'Presets', to: to('presets'), icon: IconCertificate },
    { label: 'Grants', to: to('grants'), icon: IconUserShield },
    { label: 'Access policies', to: to('policies'), icon: IconFilterCog },
    { label: 'Settings', to: to('settings'), icon: IconSettings },
    { label: 'Audit log', to: to('audit'), icon: IconHistory },
    { label: 'Access log', to: consolePaths.accessLog(slug), icon: IconEye },
  ];
}
