import type { visibilities } from '@svc/contract/apps.ts';

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** One or two graphemes, since a code point may be only part of a character. */
export function initials(name: string): string {
  const words = name.trim().split(/\s+/);
  const chosen = words.length > 1 ? [words[0], words.at(-1)] : [words[0]];
  return chosen
    .map((word) => firstGrapheme(word ?? ''))
    .join('')
    .toUpperCase();
}

function firstGrapheme(word: string): string {
  const [first] = graphemes.segment(word);
  return first?.segment ?? '';
}

export function percent(part: number, whole: number): number {
  return whole <= 0 ? 100 : Math.min(100, Math.round((1_000 * part) / whole) / 10);
}

const byteUnits = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const;

export function formatBytes(bytes: number): string {
  let at = 0;
  let value = bytes;
  while (value >= 1_000 && at < byteUnits.length - 1) {
    value /= 1_000;
    at += 1;
  }
  const unit = bytes === 1 ? 'byte' : byteUnits[at];
  return `${at === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${unit}`;
}

export type Visibility = (typeof visibilities)[number];

export const visibleTo: Readonly<Record<Visibility, string>> = {
  private: 'its owner and co-owners',
  invite_only: 'its owners and the people they invited',
  public: 'every member of the tenant',
  internet: 'everybody on the internet, without sign-in',
};

export const visibilityNames: Readonly<Record<Visibility, string>> = {
  private: 'Private',
  invite_only: 'By invitation',
  public: 'Public in the tenant',
  internet: 'Internet',
};
