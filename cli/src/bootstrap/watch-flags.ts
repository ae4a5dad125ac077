import type { Flags } from '../command.ts';

export const watchFlags = {
  watch: { type: 'boolean', summary: 'Show its steps until it has ended' },
  'watch-interval': {
    type: 'duration',
    min: '1s',
    max: '10m',
    requires: ['watch'],
    summary: 'How often it is looked at (2s)',
  },
  'watch-timeout': {
    type: 'duration',
    min: '1s',
    max: '24h',
    requires: ['watch'],
    summary: 'Stop looking after this time, with exit 10; the run goes on (30m)',
  },
} as const satisfies Flags;

export interface Watch {
  intervalMs: number;
  timeoutMs: number;
}

export function watchOf(flags: {
  watch: boolean | undefined;
  'watch-interval': number | undefined;
  'watch-timeout': number | undefined;
}): Watch | null {
  if (!flags.watch) return null;
  return {
    intervalMs: flags['watch-interval'] ?? 2_000,
    timeoutMs: flags['watch-timeout'] ?? 30 * 60_000,
  };
}
