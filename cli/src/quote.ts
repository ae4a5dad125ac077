/** One argument as a POSIX shell reads it back unchanged. */
export function quote(argument: string): string {
  if (argument !== '' && /^[A-Za-z0-9_@%+=:,./-]+$/.test(argument) && !argument.startsWith('='))
    return argument;
  return `'${argument.replaceAll("'", "'\\''")}'`;
}

/** A whole line, beginning with `svc`. */
export function commandLine(args: readonly string[]): string {
  return ['svc', ...args.map(quote)].join(' ');
}
