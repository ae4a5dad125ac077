import { Avatar, Badge, Text, Tooltip, useComputedColorScheme } from '@mantine/core';
import { initials } from './format.ts';

const stateColors: Record<string, string> = {
  live: 'green',
  active: 'green',
  running: 'green',
  ready: 'green',
  approved: 'green',
  deployed: 'green',
  done: 'green',
  ok: 'green',
  published: 'green',
  added: 'green',
  succeeded: 'green',
  starting: 'blue',
  queued: 'blue',
  building: 'blue',
  built: 'blue',
  releasing: 'blue',
  asleep: 'blue',
  staged: 'blue',
  finalized: 'blue',
  changed: 'blue',
  pending: 'yellow',
  promote_requested: 'yellow',
  waiting: 'yellow',
  missed: 'orange',
  suspended: 'orange',
  deactivated: 'orange',
  disconnected: 'red',
  failed: 'red',
  rejected: 'red',
  revoked: 'red',
  deleted: 'red',
  removed: 'red',
};

export function StateBadge({ state, label }: { state: string; label?: string }) {
  return (
    <Badge variant="light" color={stateColors[state] ?? 'gray'} radius="sm" tt="none">
      {label ?? state.replaceAll('_', ' ')}
    </Badge>
  );
}

export function ActionBadges({ actions }: { actions: readonly string[] }) {
  return actions.map((action) => (
    <Badge key={action} variant="default" radius="sm" tt="none">
      {action}
    </Badge>
  ));
}

export function TimeText({ value, empty = '–' }: { value: string | null; empty?: string }) {
  if (value === null || value === '') return <>{empty}</>;
  const exact = new Date(value).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
  return (
    <Tooltip label={exact} events={{ hover: true, focus: true, touch: true }}>
      <Text span inherit component="time" dateTime={value} title={exact}>
        {relativeTime(new Date(value).getTime() - Date.now())}
      </Text>
    </Tooltip>
  );
}

const timeUnits: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 365 * 86_400_000],
  ['month', 30 * 86_400_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];
const relativeFormat = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

export function relativeTime(ms: number): string {
  const unit = timeUnits.find(([, length]) => Math.abs(ms) >= length);
  return unit ? relativeFormat.format(Math.round(ms / unit[1]), unit[0]) : 'just now';
}

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
      {initials(app.name)}
    </Avatar>
  );
}
