import { ProblemError } from '@svc/contract/client.ts';
import type { readAppLog } from '@svc/contract/deployments.ts';
import type { Answer } from '@svc/contract/endpoint.ts';

export type LogPage = Answer<NonNullable<typeof readAppLog.shape>>;
type LogStream = LogPage['items'][number]['stream'];

export interface LogLine {
  number: number;
  time: string;
  stream: LogStream;
  process: string | null;
  deployment: number | null;
  text: string;
}

/** Rendering more lines would make the page slow. */
export const logLinesMax = 5_000;

export function appendLines(lines: readonly LogLine[], more: LogPage['items']): readonly LogLine[] {
  if (more.length === 0) return lines;
  const first = (lines.at(-1)?.number ?? 0) + 1;
  const all = [...lines, ...more.map((line, at) => ({ ...line, number: first + at }))];
  return all.length > logLinesMax ? all.slice(-logLinesMax) : all;
}

export interface LogFilter {
  words: string;
  stream: LogStream | 'all';
  since: Date | null;
}

export function filterLines(lines: readonly LogLine[], { words, stream, since }: LogFilter) {
  const terms = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (terms.length === 0 && stream === 'all' && since === null) return lines;
  const from = since?.getTime() ?? 0;
  return lines.filter((line) => {
    if (stream !== 'all' && line.stream !== stream) return false;
    if (from > 0 && new Date(line.time).getTime() < from) return false;
    if (terms.length === 0) return true;
    const text = stripAnsi(line.text).toLowerCase();
    return terms.every((word) => text.includes(word));
  });
}

export function linesText(lines: readonly LogLine[]): string {
  return lines.map(({ time, stream, text }) => `${time} ${stream} ${stripAnsi(text)}\n`).join('');
}

export function splitMatches(text: string, words: string): string[] {
  const terms = words
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  if (terms.length === 0) return [text];
  return text.split(new RegExp(`(${terms.join('|')})`, 'gi'));
}

const ansiColors = ['red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'gray'] as const;
type AnsiColor = (typeof ansiColors)[number];

interface AnsiSpan {
  text: string;
  color: AnsiColor | null;
  isBold: boolean;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colour sequences start with a control character.
const colorSequence = /\u001b\[([0-9;:]*)m/;

export function ansiSpans(line: string): AnsiSpan[] {
  if (!line.includes('\u001b')) return [{ text: line, color: null, isBold: false }];
  const parts: AnsiSpan[] = [];
  let look: Omit<AnsiSpan, 'text'> = { color: null, isBold: false };
  // `split` with a capture group returns the codes as every second piece.
  for (const [at, piece] of line.split(colorSequence).entries()) {
    if (at % 2 === 1) look = applyCodes(look, piece);
    else if (piece !== '') parts.push({ text: piece, ...look });
  }
  return parts;
}

export function stripAnsi(line: string): string {
  return ansiSpans(line)
    .map(({ text }) => text)
    .join('');
}

const colorByCode: Record<number, AnsiColor> = {
  30: 'gray',
  31: 'red',
  32: 'green',
  33: 'yellow',
  34: 'blue',
  35: 'magenta',
  36: 'cyan',
};

function applyCodes(look: Omit<AnsiSpan, 'text'>, sequence: string): Omit<AnsiSpan, 'text'> {
  const after = { ...look };
  const codes = sequence.split(/[;:]/).map(Number);
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    if (code === 0) Object.assign(after, { color: null, isBold: false });
    else if (code === 1) after.isBold = true;
    else if (code === 22) after.isBold = false;
    else if (code === 39 || code === 37 || code === 97) after.color = null;
    // `38;5;n` and `38;2;r;g;b` are ignored: most of those colours are unreadable in one of the colour schemes.
    else if (code === 38 || code === 48) at += codes[at + 1] === 5 ? 2 : 4;
    else after.color = colorByCode[code >= 90 ? code - 60 : code] ?? after.color;
  }
  return after;
}

const firstMs = 1_000;
const longestMs = 30_000;
const retriedStatuses = [401, 408, 429];

export function retryDelay(error: unknown, failures: number): number | null {
  if (error instanceof ProblemError) {
    const { status } = error.problem;
    if (status < 500 && !retriedStatuses.includes(status)) return null;
    if (error.retryAfterSeconds !== null) return Math.min(error.retryAfterSeconds * 1_000, longestMs);
  }
  return Math.min(firstMs * 2 ** (failures - 1), longestMs);
}

export const logRanges = ['recent', '5m', '1h', '24h', 'all'] as const;
type LogRange = (typeof logRanges)[number];

const minutes: Record<LogRange, number | null> = {
  recent: null,
  '5m': 5,
  '1h': 60,
  '24h': 24 * 60,
  all: null,
};

export const rangeLabels: Record<LogRange, string> = {
  recent: 'The last 1,000 lines',
  '5m': 'The last 5 minutes',
  '1h': 'The last hour',
  '24h': 'The last 24 hours',
  all: `The last ${logLinesMax.toLocaleString('en')} lines`,
};

export function rangeStart(range: LogRange, now: Date): Date | null {
  const length = minutes[range];
  return length === null ? null : new Date(now.getTime() - length * 60_000);
}
