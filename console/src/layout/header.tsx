import {
  ActionIcon,
  Avatar,
  Group,
  Indicator,
  Menu,
  Select,
  Text,
  useMantineColorScheme,
} from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { listNotifications } from '@svc/contract/notifications.ts';
import { IconBell, IconDeviceDesktop, IconLogout, IconMoon, IconSun } from '@tabler/icons-react';
import { useRef } from 'react';
import { Link, useLocation } from 'wouter';
import { useMe, useTenant } from '../api/me.ts';
import { useEndpoint } from '../api/use-endpoint.ts';
import { initials } from '../components/format.ts';
import { BoldText } from '../components/text.tsx';

export function Logo() {
  return (
    <Group gap={8} wrap="nowrap">
      <svg viewBox="0 0 24 24" width="26" height="26" fill="none" aria-hidden="true">
        <rect x="2" y="2" width="20" height="20" rx="6" fill="var(--mantine-primary-color-filled)" />
        <path
          d="M7.5 9.5 10 12l-2.5 2.5M12.5 15h4"
          stroke="#fff"
          strokeWidth="2"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      </svg>
      <Text fw={650}>svc</Text>
    </Group>
  );
}

export function TenantSwitch() {
  const { tenants } = useMe();
  const { slug } = useTenant();
  const [, go] = useLocation();
  return (
    <Select
      aria-label="Tenant"
      data={tenants.map((tenant) => ({ value: tenant.slug, label: tenant.name }))}
      value={slug}
      onChange={(chosen) => chosen && go(consolePaths.apps(chosen))}
      allowDeselect={false}
      searchable={tenants.length > 8}
      w={{ base: 140, xs: 200 }}
      size="sm"
    />
  );
}

const bellPollMs = 30_000;
const unreadShownMax = 99;

export function NotificationBell() {
  const { slug, id } = useTenant();
  const { data } = useEndpoint(
    listNotifications,
    { params: { tenantID: id }, query: { per_page: 1, unread: 'true' } },
    { refetchMs: bellPollMs },
  );
  const unread = data?.unread ?? 0;
  return (
    <Indicator
      label={unread > unreadShownMax ? `${unreadShownMax}+` : unread}
      size={18}
      offset={6}
      color="red.9"
      disabled={unread === 0}
    >
      <ActionIcon
        component={Link}
        href={consolePaths.notifications(slug)}
        variant="subtle"
        color="gray"
        size="lg"
        aria-label={unread === 0 ? 'Notifications' : `Notifications, ${unread} unread`}
      >
        <IconBell size={20} aria-hidden />
      </ActionIcon>
    </Indicator>
  );
}

export function UserMenu() {
  const me = useMe();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const form = useRef<HTMLFormElement>(null);
  const schemes = [
    { value: 'auto', label: 'System', icon: IconDeviceDesktop },
    { value: 'light', label: 'Light', icon: IconSun },
    { value: 'dark', label: 'Dark', icon: IconMoon },
  ] as const;
  return (
    <>
      <form ref={form} method="post" action="/logout" hidden />
      <Menu position="bottom-end" width={240}>
        <Menu.Target>
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            radius="xl"
            aria-label={`Account of ${me.name}`}
          >
            <Avatar name={me.name} size={30} color="initials" aria-hidden>
              {initials(me.name)}
            </Avatar>
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>
            <BoldText>{me.name}</BoldText>
            <Text size="xs">{me.email}</Text>
          </Menu.Label>
          <Menu.Divider />
          <Menu.Label>Colour scheme</Menu.Label>
          {schemes.map(({ value, label, icon: Icon }) => (
            <Menu.Item
              key={value}
              leftSection={<Icon size={16} />}
              onClick={() => setColorScheme(value)}
              aria-current={colorScheme === value || undefined}
              fw={colorScheme === value ? 600 : undefined}
            >
              {label}
            </Menu.Item>
          ))}
          <Menu.Divider />
          <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => form.current?.requestSubmit()}>
            Sign out
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </>
  );
}
