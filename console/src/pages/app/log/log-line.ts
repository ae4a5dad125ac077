import type { readAppLog } from '@svc/contract/deployments.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { plainText } from './ansi.ts';

export type LogPage = Answer<NonNullable<typeof readAppLog.shape>>;
export type LogStream = LogPage['items'][number]['stream'];

export interface KeptLine {
  /** Counts on, however many were let go. */
  number: number;
  time: string;
  stream: LogStream;
  text: string;
}

/** More would make the page slow, and nobody reads them. */
export const keptLinesMax = 5_000;

export function withMore(kept: readonly KeptLine[], more: LogPage['items']): readonly KeptLine[] {
  if (more.length === 0) return kept;
  const first = (kept.at(-1)?.number ?? 0) + 1;
  const all = [...kept, ...more.map((line, at) => ({ ...line, number: first + at }))];
  return all.length > keptLinesMax ? all.slice(-keptLinesMax) : all;
}

export interface LogWish {
  /** Each of them is in the line, in whatever case. */
  words: string;
  stream: LogStream | 'all';
  /** None earlier than this. */
  since: Date | null;
}

export function fittingLines(lines: readonly KeptLine[], { words, stream, since }: LogWish) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0 && stream === 'all' && since === null) return lines;
  const from = since?.getTime() ?? 0;
  return lines.filter((line) => {
    if (stream !== 'all' && line.stream !== stream) return false;
    if (from > 0 && new Date(line.time).getTime() < from) return false;
    if (wanted.length === 0) return true;
    const text = plainText(line.text).toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

/** As a file or on the clipboard. */
export function linesText(lines: readonly KeptLine[]): string {
  return lines.map(({ time, stream, text }) => `${time} ${stream} ${plainText(text)}\n`).join('');
}

/** The pieces of a text before, at and after each place where one of the words stands: every second one is a hit. */
export function hitsIn(text: string, words: string): string[] {
  const wanted = words
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  if (wanted.length === 0) return [text];
  return text.split(new RegExp(`(${wanted.join('|')})`, 'gi'));
}
