import { ActionIcon, Avatar, Menu, Text, useMantineColorScheme } from '@mantine/core';
import { IconDeviceDesktop, IconLogout, IconMoon, IconSun } from '@tabler/icons-react';
import { useRef } from 'react';
import { useMe } from '../api/me.ts';
import { initialsOf } from '../parts/initials-of.ts';

export function UserMenu() {
  const me = useMe();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const form = useRef<HTMLFormElement>(null);
  const schemes = [
    { value: 'auto', label: 'Like the system', icon: IconDeviceDesktop },
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
              {initialsOf(me.name)}
            </Avatar>
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>
            <Text size="sm" fw={600}>
              {me.name}
            </Text>
            <Text size="xs">{me.email}</Text>
          </Menu.Label>
          <Menu.Divider />
          <Menu.Label>Colours</Menu.Label>
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
