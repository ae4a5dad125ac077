import { Avatar, useComputedColorScheme } from '@mantine/core';
import { initialsOf } from './initials-of.ts';

/** An app's picture for the ground it stands on; its initials where it has none. */
export function AppIcon({
  app,
  size,
}: {
  app: { name: string; icon_url: string | null; icon_dark_url: string | null };
  size: number;
}) {
  const isDark = useComputedColorScheme('light') === 'dark';
  const source = (isDark && app.icon_dark_url) || app.icon_url;
  return (
    <Avatar src={source} name={app.name} size={size} radius="md" color="initials" alt="">
      {initialsOf(app.name)}
    </Avatar>
  );
}
