import { type OutputFormat, outputFormats } from './flags.ts';

/** What of a line decides the format, whatever else is wrong with it. */
export function formatAsked(argv: readonly string[]): OutputFormat {
  if (argv.includes('--json') || argv.includes('--json=true')) return 'json';
  for (const [at, token] of argv.entries()) {
    const value =
      /^(?:--output=|-o=?)(.+)$/.exec(token)?.[1] ??
      (/^(?:--output|-o)$/.test(token) ? argv[at + 1] : undefined);
    const format = outputFormats.find((known) => known === value);
    if (format !== undefined) return format;
  }
  return 'table';
}
