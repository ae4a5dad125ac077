/** Maps output of build tools and programs to the change that the project needs. */
const advices: readonly { sign: RegExp; advice: (name: string, app: string) => string }[] = [
  {
    // npm leaves optional packages out without a word when their download fails.
    sign: /Cannot find module '((?:@[\w.-]+\/)?[\w.-]+-linux-(?:arm64|x64)[\w-]*)'/,
    advice: (name) =>
      `The package ${name} for this machine was not downloaded: deploy again. If it stays so, add it to the optional dependencies in package.json.`,
  },
  {
    sign: /Cannot find (?:module|package) '((?:@[\w.-]+\/)?[\w-][\w.-]*)/,
    advice: (name) => `Add ${name} to the dependencies in package.json.`,
  },
  {
    // The file is one of the app itself, such as that of its start command.
    sign: /Cannot find module '(?:\/\S*\/artifacts\/[0-9a-f-]{36})?(\/[^']+)'/,
    advice: (name) =>
      `The build has no file ${name.replace(/^\//, '')}: correct start in svc.yaml, or the build that should make it.`,
  },
  { sign: /No module named '?([\w-]+)/, advice: (name) => `Add ${name} to requirements.txt.` },
  {
    sign: /Missing script: "?([\w:.-]+)/,
    advice: (name) => `Add the script ${name} to package.json, or set the command in svc.yaml.`,
  },
  {
    sign: /can only install packages when your package\.json and package-lock|ERR_PNPM_OUTDATED_LOCKFILE|lockfile would have been (?:created|modified)|lockfile needs to be updated|lockfile had changes/,
    advice: () => 'The lock file does not match package.json: install again, and commit the lock file.',
  },
  {
    sign: /(?:^|[:\s])([\w@./-]+): (?:command )?not found/,
    advice: (name) =>
      `The program ${name} is missing: add it to the dependencies, or change the command in svc.yaml.`,
  },
  {
    sign: /EADDRINUSE|[Aa]ddress already in use/,
    advice: () => 'The app opens a port twice: listen on PORT only.',
  },
  {
    sign: /[Ee]nvironment variable[: ]+["'`]?([A-Z][A-Z0-9_]{2,})|\b([A-Z][A-Z0-9_]{2,}) (?:is not set|is required|is missing|must be set|environment variable)/,
    advice: (name, app) => `Set the variable: svc env set ${name}=… --app ${app} --execute.`,
  },
  {
    sign: /JavaScript heap out of memory/,
    advice: () => 'The program needs more memory: choose a larger resource tier.',
  },
];

export function findAdvice(lines: readonly string[], { app }: { app: string }): string | null {
  for (const line of lines.toReversed())
    for (const { sign, advice } of advices) {
      const found = sign.exec(line);
      if (found) return advice(found.slice(1).find((part) => part !== undefined) ?? '', app);
    }
  return null;
}
